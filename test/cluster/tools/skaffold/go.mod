// Only to download skaffold's schema; nothing is built from it.
module reprise.dev/test/cluster/tools/skaffold

go 1.26

require github.com/GoogleContainerTools/skaffold/v2 v2.16.1
