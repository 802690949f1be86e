// Command coredns is CoreDNS with only the plugins that answer for a cluster's own names. The full one compiles the
// SDKs of several clouds.
package main

import (
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"
	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/cache"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/loadbalance"
	_ "github.com/coredns/coredns/plugin/ready"
)

func main() {
	// In the order in which a query passes them, which is that of CoreDNS itself.
	dnsserver.Directives = []string{"bind", "ready", "errors", "cache", "loadbalance", "kubernetes"}
	coremain.Run()
}
