//go:build tools

// Package tools pins the programs the local cluster is built from.
package tools

import (
	_ "sigs.k8s.io/jobset"
	_ "sigs.k8s.io/jobset/cmd/in-place-restart-agent"
)
