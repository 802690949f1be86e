// Builds Kueue. It shares the versions of Kubernetes' modules with tools/cluster, so that most of it is compiled
// already.
module reprise.dev/tools/kueue

go 1.26.8

tool sigs.k8s.io/kueue/cmd/kueue

require sigs.k8s.io/kueue v0.19.2 // indirect

require github.com/cert-manager/cert-manager v1.21.2 // indirect

require golang.org/x/sync v0.22.0 // indirect

require k8s.io/apiextensions-apiserver v0.36.3 // indirect

require k8s.io/apimachinery v0.36.3 // indirect

require k8s.io/client-go v0.36.3 // indirect

require k8s.io/klog/v2 v2.140.0 // indirect

require k8s.io/kube-aggregator v0.36.3 // indirect

require k8s.io/kubernetes v1.36.3 // indirect

require sigs.k8s.io/controller-runtime v0.24.1 // indirect

require sigs.k8s.io/jobset v0.12.0 // indirect

require cel.dev/expr v0.25.2 // indirect

require github.com/NYTimes/gziphandler v1.1.1 // indirect

require github.com/antlr4-go/antlr/v4 v4.13.1 // indirect

require github.com/beorn7/perks v1.0.1 // indirect

require github.com/blang/semver/v4 v4.0.0 // indirect

require github.com/cenkalti/backoff/v5 v5.0.3 // indirect

require github.com/cespare/xxhash/v2 v2.3.0 // indirect

require github.com/coreos/go-semver v0.3.1 // indirect

require github.com/coreos/go-systemd/v22 v22.7.0 // indirect

require github.com/davecgh/go-spew v1.1.2-0.20180830191138-d8f796af33cc // indirect

require github.com/distribution/reference v0.6.0 // indirect

require github.com/emicklei/go-restful/v3 v3.13.0 // indirect

require github.com/evanphx/json-patch/v5 v5.9.11 // indirect

require github.com/felixge/httpsnoop v1.0.4 // indirect

require github.com/fsnotify/fsnotify v1.10.1 // indirect

require github.com/fxamacker/cbor/v2 v2.9.1 // indirect

require github.com/go-jose/go-jose/v4 v4.1.4 // indirect

require github.com/go-logr/logr v1.4.3 // indirect

require github.com/go-logr/stdr v1.2.2 // indirect

require github.com/go-logr/zapr v1.3.0 // indirect

require github.com/go-openapi/jsonpointer v0.23.1 // indirect

require github.com/go-openapi/jsonreference v0.21.5 // indirect

require github.com/go-openapi/swag v0.26.0 // indirect

require github.com/go-openapi/swag/cmdutils v0.26.0 // indirect

require github.com/go-openapi/swag/conv v0.26.0 // indirect

require github.com/go-openapi/swag/fileutils v0.26.0 // indirect

require github.com/go-openapi/swag/jsonname v0.26.0 // indirect

require github.com/go-openapi/swag/jsonutils v0.26.0 // indirect

require github.com/go-openapi/swag/loading v0.26.0 // indirect

require github.com/go-openapi/swag/mangling v0.26.0 // indirect

require github.com/go-openapi/swag/netutils v0.26.0 // indirect

require github.com/go-openapi/swag/stringutils v0.26.0 // indirect

require github.com/go-openapi/swag/typeutils v0.26.0 // indirect

require github.com/go-openapi/swag/yamlutils v0.26.0 // indirect

require github.com/gogo/protobuf v1.3.2 // indirect

require github.com/golang/protobuf v1.5.4 // indirect

require github.com/google/cel-go v0.30.0 // indirect

require github.com/google/gnostic-models v0.7.1 // indirect

require github.com/google/go-cmp v0.7.0 // indirect

require github.com/google/uuid v1.6.0 // indirect

require github.com/grpc-ecosystem/go-grpc-middleware/providers/prometheus v1.1.0 // indirect

require github.com/grpc-ecosystem/go-grpc-middleware/v2 v2.3.3 // indirect

require github.com/grpc-ecosystem/grpc-gateway/v2 v2.28.0 // indirect

require github.com/inconshreveable/mousetrap v1.1.0 // indirect

require github.com/json-iterator/go v1.1.12 // indirect

require github.com/klauspost/compress v1.18.5 // indirect

require github.com/kylelemons/godebug v1.1.0 // indirect

require github.com/modern-go/concurrent v0.0.0-20180306012644-bacd9c7ef1dd // indirect

require github.com/modern-go/reflect2 v1.0.3-0.20250322232337-35a7c28c31ee // indirect

require github.com/munnerz/goautoneg v0.0.0-20191010083416-a7dc8b61c822 // indirect

require github.com/open-policy-agent/cert-controller v0.16.0 // indirect

require github.com/opencontainers/go-digest v1.0.0 // indirect

require github.com/pkg/errors v0.9.1 // indirect

require github.com/pmezard/go-difflib v1.0.1-0.20181226105442-5d4384ee4fb2 // indirect

require github.com/prometheus/client_golang v1.23.2 // indirect

require github.com/prometheus/client_model v0.6.2 // indirect

require github.com/prometheus/common v0.70.0 // indirect

require github.com/prometheus/procfs v0.21.0 // indirect

require github.com/robfig/cron/v3 v3.0.1 // indirect

require github.com/sirupsen/logrus v1.9.4 // indirect

require github.com/spf13/cobra v1.10.2 // indirect

require github.com/spf13/pflag v1.0.10 // indirect

require github.com/x448/float16 v0.8.4 // indirect

require go.etcd.io/etcd/api/v3 v3.6.8 // indirect

require go.etcd.io/etcd/client/pkg/v3 v3.6.14 // indirect

require go.etcd.io/etcd/client/v3 v3.6.8 // indirect

require go.opentelemetry.io/auto/sdk v1.2.1 // indirect

require go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc v0.68.0 // indirect

require go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp v0.68.0 // indirect

require go.opentelemetry.io/otel v1.44.0 // indirect

require go.opentelemetry.io/otel/exporters/otlp/otlptrace v1.43.0 // indirect

require go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc v1.43.0 // indirect

require go.opentelemetry.io/otel/metric v1.44.0 // indirect

require go.opentelemetry.io/otel/sdk v1.44.0 // indirect

require go.opentelemetry.io/otel/trace v1.44.0 // indirect

require go.opentelemetry.io/proto/otlp v1.10.0 // indirect

require go.uber.org/atomic v1.11.0 // indirect

require go.uber.org/multierr v1.11.0 // indirect

require go.uber.org/zap v1.28.0 // indirect

require go.yaml.in/yaml/v2 v2.4.4 // indirect

require go.yaml.in/yaml/v3 v3.0.4 // indirect

require golang.org/x/crypto v0.56.0 // indirect

require golang.org/x/exp v0.0.0-20260410095643-746e56fc9e2f // indirect

require golang.org/x/mod v0.40.0 // indirect

require golang.org/x/net v0.58.0 // indirect

require golang.org/x/oauth2 v0.36.0 // indirect

require golang.org/x/sys v0.47.0 // indirect

require golang.org/x/term v0.45.0 // indirect

require golang.org/x/text v0.41.0 // indirect

require golang.org/x/time v0.15.0 // indirect

require golang.org/x/tools v0.49.0 // indirect

require gomodules.xyz/jsonpatch/v2 v2.5.0 // indirect

require google.golang.org/genproto/googleapis/api v0.0.0-20260526163538-3dc84a4a5aaa // indirect

require google.golang.org/genproto/googleapis/rpc v0.0.0-20260610212136-7ab31c22f7ad // indirect

require google.golang.org/grpc v1.83.2 // indirect

require google.golang.org/protobuf v1.36.12-0.20260120151049-f2248ac996af // indirect

require gopkg.in/evanphx/json-patch.v4 v4.13.0 // indirect

require gopkg.in/inf.v0 v0.9.1 // indirect

require gopkg.in/natefinch/lumberjack.v2 v2.2.1 // indirect

require gopkg.in/yaml.v3 v3.0.1 // indirect

require k8s.io/api v0.36.3 // indirect

require k8s.io/apiserver v0.36.3 // indirect

require k8s.io/cloud-provider v0.36.3 // indirect

require k8s.io/component-base v0.36.3 // indirect

require k8s.io/component-helpers v0.36.3 // indirect

require k8s.io/controller-manager v0.36.3 // indirect

require k8s.io/dynamic-resource-allocation v0.36.3 // indirect

require k8s.io/kms v0.36.3 // indirect

require k8s.io/kube-openapi v0.0.0-20260618221249-bc653b64f974 // indirect

require k8s.io/kubelet v0.36.3 // indirect

require k8s.io/metrics v0.36.3 // indirect

require k8s.io/streaming v0.36.3 // indirect

require k8s.io/utils v0.0.0-20260626114624-be93311217bd // indirect

require sigs.k8s.io/apiserver-network-proxy/konnectivity-client v0.34.0 // indirect

require sigs.k8s.io/gateway-api v1.6.0 // indirect

require sigs.k8s.io/json v0.0.0-20250730193827-2d320260d730 // indirect

require sigs.k8s.io/randfill v1.0.0 // indirect

require sigs.k8s.io/structured-merge-diff/v6 v6.4.2 // indirect

require sigs.k8s.io/yaml v1.6.0 // indirect

require (
	github.com/Masterminds/semver/v3 v3.5.0 // indirect
	github.com/coreos/go-oidc/v3 v3.18.0 // indirect
	github.com/go-task/slim-sprig/v3 v3.0.0 // indirect
	github.com/google/pprof v0.0.0-20260402051712-545e8a4df936 // indirect
	github.com/hashicorp/golang-lru/v2 v2.0.7 // indirect
	github.com/kubeflow/mpi-operator v0.8.2 // indirect
	github.com/kubeflow/spark-operator/v2 v2.5.1 // indirect
	github.com/kubeflow/trainer/v2 v2.2.1 // indirect
	github.com/kubeflow/training-operator v1.9.3 // indirect
	github.com/onsi/ginkgo/v2 v2.32.0 // indirect
	github.com/onsi/gomega v1.42.1 // indirect
	github.com/project-codeflare/appwrapper v1.2.2 // indirect
	github.com/ray-project/kuberay/ray-operator v1.6.2 // indirect
	github.com/smallnest/chanx v1.2.0 // indirect
	k8s.io/autoscaler/cluster-autoscaler/apis v0.0.0-20240830133931-adfbe7e45277 // indirect
	k8s.io/code-generator v0.36.3 // indirect
	k8s.io/csi-translation-lib v0.32.5 // indirect
	k8s.io/gengo/v2 v2.0.0-20250922181213-ec3ebc5fd46b // indirect
	k8s.io/kube-scheduler v0.36.0 // indirect
	sigs.k8s.io/cluster-inventory-api v0.1.3 // indirect
	sigs.k8s.io/lws v0.9.0 // indirect
	sigs.k8s.io/scheduler-library v0.1.0-alpha1 // indirect
	sigs.k8s.io/scheduler-plugins v0.34.7 // indirect
	volcano.sh/apis v1.14.0 // indirect
)

replace (
	k8s.io/api => k8s.io/api v0.36.3
	k8s.io/apiextensions-apiserver => k8s.io/apiextensions-apiserver v0.36.3
	k8s.io/apimachinery => k8s.io/apimachinery v0.36.3
	k8s.io/apiserver => k8s.io/apiserver v0.36.3
	k8s.io/cli-runtime => k8s.io/cli-runtime v0.36.3
	k8s.io/client-go => k8s.io/client-go v0.36.3
	k8s.io/cloud-provider => k8s.io/cloud-provider v0.36.3
	k8s.io/cluster-bootstrap => k8s.io/cluster-bootstrap v0.36.3
	k8s.io/code-generator => k8s.io/code-generator v0.36.3
	k8s.io/component-base => k8s.io/component-base v0.36.3
	k8s.io/component-helpers => k8s.io/component-helpers v0.36.3
	k8s.io/controller-manager => k8s.io/controller-manager v0.36.3
	k8s.io/cri-api => k8s.io/cri-api v0.36.3
	k8s.io/cri-client => k8s.io/cri-client v0.36.3
	k8s.io/cri-streaming => k8s.io/cri-streaming v0.36.3
	k8s.io/csi-translation-lib => k8s.io/csi-translation-lib v0.36.3
	k8s.io/dynamic-resource-allocation => k8s.io/dynamic-resource-allocation v0.36.3
	k8s.io/endpointslice => k8s.io/endpointslice v0.36.3
	k8s.io/externaljwt => k8s.io/externaljwt v0.36.3
	k8s.io/kms => k8s.io/kms v0.36.3
	k8s.io/kube-aggregator => k8s.io/kube-aggregator v0.36.3
	k8s.io/kube-controller-manager => k8s.io/kube-controller-manager v0.36.3
	k8s.io/kube-proxy => k8s.io/kube-proxy v0.36.3
	k8s.io/kube-scheduler => k8s.io/kube-scheduler v0.36.3
	k8s.io/kubectl => k8s.io/kubectl v0.36.3
	k8s.io/kubelet => k8s.io/kubelet v0.36.3
	k8s.io/metrics => k8s.io/metrics v0.36.3
	k8s.io/mount-utils => k8s.io/mount-utils v0.36.3
	k8s.io/pod-security-admission => k8s.io/pod-security-admission v0.36.3
	k8s.io/sample-apiserver => k8s.io/sample-apiserver v0.36.3
	k8s.io/sample-cli-plugin => k8s.io/sample-cli-plugin v0.36.3
	k8s.io/sample-controller => k8s.io/sample-controller v0.36.3
	k8s.io/streaming => k8s.io/streaming v0.36.3
)
