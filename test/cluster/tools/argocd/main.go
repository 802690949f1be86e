// Command argocd runs Argo CD's application controller, its repo server or its cache, or applies its health checks. It
// leaves out the API server, the user interface and the other programs of upstream's command, which no test needs.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/alicebob/miniredis/v2"
	controller "github.com/argoproj/argo-cd/v3/cmd/argocd-application-controller/commands"
	reposerver "github.com/argoproj/argo-cd/v3/cmd/argocd-repo-server/commands"
	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/argoproj/argo-cd/v3/util/lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	if len(os.Args) < 2 {
		return errors.New("usage: argocd application-controller|repo-server|redis|health [flags]")
	}
	switch role := os.Args[1]; role {
	case "application-controller":
		command := controller.NewCommand()
		command.SetArgs(os.Args[2:])
		return command.Execute()
	case "repo-server":
		command := reposerver.NewCommand()
		command.SetArgs(os.Args[2:])
		return command.Execute()
	case "redis":
		return redis(os.Args[2])
	case "health":
		return health()
	default:
		return fmt.Errorf("argocd has no role %s", role)
	}
}

// redis serves the cache that Argo CD's own headless mode uses in place of Redis.
func redis(address string) error {
	server := miniredis.NewMiniRedis()
	if err := server.StartAddr(address); err != nil {
		return err
	}
	select {}
}

// health reads the data of an argocd-cm and objects, and prints the health of each object.
func health() error {
	var input struct {
		Data    map[string]string `json:"data"`
		Objects []map[string]any  `json:"objects"`
	}
	if err := json.NewDecoder(os.Stdin).Decode(&input); err != nil {
		return err
	}
	overrides := lua.ResourceHealthOverrides{}
	for key, script := range input.Data {
		if kind, ok := strings.CutPrefix(key, "resource.customizations.health."); ok {
			overrides[strings.Replace(kind, "_", "/", 1)] = v1alpha1.ResourceOverride{HealthLua: script}
		}
	}
	results := []any{}
	for _, object := range input.Objects {
		result, err := overrides.GetResourceHealth(&unstructured.Unstructured{Object: object})
		if err != nil {
			return err
		}
		results = append(results, result)
	}
	return json.NewEncoder(os.Stdout).Encode(results)
}
