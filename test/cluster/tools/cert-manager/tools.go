//go:build tools

// Package tools pins the programs the local cluster is built from.
package tools

import (
	_ "github.com/cert-manager/cert-manager/cmd/controller"
	_ "github.com/cert-manager/cert-manager/cmd/webhook"
	_ "github.com/cert-manager/cert-manager/cmd/cainjector"
)
