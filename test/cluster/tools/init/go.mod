module reprise.dev/test/cluster/tools/init

go 1.26.0
