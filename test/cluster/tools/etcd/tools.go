//go:build tools

// Package tools pins the programs the local cluster is built from.
package tools

import (
	_ "go.etcd.io/etcd/server/v3"
)
