{{/* The image of webhook, controller and agents. */}}
{{- define "reprise.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end }}

{{/* The config file. The Lease of the controller is in the namespace of the release. */}}
{{- define "reprise.config" -}}
{{- $config := deepCopy .Values.config -}}
{{- if ne .Release.Namespace "reprise-system" -}}
{{- $own := dict "controller" (dict "leaderElection" (dict "namespace" .Release.Namespace)) -}}
{{- $config = mergeOverwrite $config $own -}}
{{- end -}}
{{ toYaml $config }}
{{- end }}

{{/* The name of a ConfigMap changes with its content, so that a new setting rolls the Pods. */}}
{{- define "reprise.configHash" -}}
{{ include "reprise.config" . | sha256sum | trunc 10 }}
{{- end }}

{{/* What decides where the Pods of a program run, and which Secrets pull their image. */}}
{{- define "reprise.placement" -}}
{{- $values := (index . 0).Values -}}
{{- $program := index $values (index . 1) -}}
{{- $fields := dict "imagePullSecrets" $values.imagePullSecrets -}}
{{- range list "priorityClassName" "nodeSelector" "tolerations" "topologySpreadConstraints" -}}
{{- $_ := set $fields . (index $program .) -}}
{{- end -}}
{{- range $field, $value := $fields -}}
{{- if $value }}
{{ toYaml (dict $field $value) }}
{{- end -}}
{{- end -}}
{{- end }}
