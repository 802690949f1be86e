// Builds Gatekeeper. The versions of Kubernetes' modules, and of what these need, are those of tools/cluster, so that
// most of it is compiled already.
module reprise.dev/tools/gatekeeper

go 1.26.0

require (
	cel.dev/expr v0.25.2
	github.com/fxamacker/cbor/v2 v2.9.1
	github.com/go-openapi/jsonpointer v0.23.1
	github.com/go-openapi/jsonreference v0.21.5
	github.com/go-openapi/swag v0.26.0
	github.com/google/gnostic-models v0.7.1
	github.com/open-policy-agent/gatekeeper/v3 v3.23.1
	golang.org/x/crypto v0.56.0
	golang.org/x/net v0.58.0
	golang.org/x/sys v0.47.0
	golang.org/x/term v0.45.0
	golang.org/x/text v0.41.0
	gomodules.xyz/jsonpatch/v2 v2.5.0
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260610212136-7ab31c22f7ad
	google.golang.org/grpc v1.83.2
	k8s.io/api v0.36.3
	k8s.io/apiextensions-apiserver v0.36.3
	k8s.io/apimachinery v0.36.3
	k8s.io/apiserver v0.36.3
	k8s.io/client-go v0.36.3
	k8s.io/component-base v0.36.3
	k8s.io/kube-openapi v0.0.0-20260501160325-927ab1f70cd6
	k8s.io/utils v0.0.0-20260626114624-be93311217bd
	sigs.k8s.io/structured-merge-diff/v6 v6.4.0
)

require sigs.k8s.io/controller-runtime v0.24.1 // indirect

replace (
	github.com/fsnotify/fsnotify => github.com/fsnotify/fsnotify v1.9.0
	github.com/grpc-ecosystem/grpc-gateway/v2 => github.com/grpc-ecosystem/grpc-gateway/v2 v2.28.0
	github.com/prometheus/procfs => github.com/prometheus/procfs v0.19.2
	go.opentelemetry.io/otel/exporters/otlp/otlptrace => go.opentelemetry.io/otel/exporters/otlp/otlptrace v1.43.0
	go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc => go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc v1.43.0
)
