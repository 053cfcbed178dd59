package reaper

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/reaper/kubesim"
)

// A pod that crashes is left alone for its first restarts, and deleted after five: five minutes that take no time.
func TestReaperDeletesPodsThatCrashAgainAndAgain(t *testing.T) {
	kubeconfig := apiServer(t)
	nodes, err := kubesim.StartNodes(kubeconfig, "--name", "worker")
	if err != nil {
		t.Fatal(err)
	}
	defer nodes.Stop()
	if err := nodes.Pause(); err != nil {
		t.Fatal(err)
	}
	client, server := connect(t, kubeconfig)
	crash := `{"metadata": {"name": "crash"}, "spec": {"nodeName": "worker", "containers": [
		{"name": "main", "image": "busybox", "command": ["false"]}]}}`
	answer, err := client.Post(server+"/api/v1/namespaces/default/pods", "application/json", strings.NewReader(crash))
	if err != nil || answer.StatusCode != http.StatusCreated {
		t.Fatal(answer, err)
	}
	answer.Body.Close()
	reaper := Reaper{Client: client, Server: server, Restarts: 5}

	if err := nodes.Advance(time.Minute); err != nil {
		t.Fatal(err)
	}
	if deleted, err := reaper.Reconcile("default"); err != nil || len(deleted) != 0 {
		t.Fatalf("after one minute it deleted %v (%v)", deleted, err)
	}
	if err := nodes.Advance(9 * time.Minute); err != nil {
		t.Fatal(err)
	}
	if deleted, err := reaper.Reconcile("default"); err != nil || len(deleted) != 1 || deleted[0] != "crash" {
		t.Fatalf("after ten minutes it deleted %v (%v), not crash", deleted, err)
	}
}

// apiServer gives the kubeconfig of an API server without nodes. This one is kubesim's own; README.md shows envtest's.
func apiServer(t *testing.T) string {
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	cluster, err := kubesim.StartCluster(kubeconfig, "--nodes", "0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cluster.Stop() })
	return kubeconfig
}

// connect reads what kubesim writes: a kubeconfig in JSON. A real operator uses client-go.
func connect(t *testing.T, kubeconfig string) (*http.Client, string) {
	text, err := os.ReadFile(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		Clusters []struct {
			Cluster struct {
				Server string
				CA     string `json:"certificate-authority-data"`
			}
		}
		Users []struct{ User struct{ Token string } }
	}
	if err := json.Unmarshal(text, &config); err != nil {
		t.Fatal(err)
	}
	certificate, err := base64.StdEncoding.DecodeString(config.Clusters[0].Cluster.CA)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(certificate)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
	return &http.Client{Transport: withToken{transport, config.Users[0].User.Token}}, config.Clusters[0].Cluster.Server
}

type withToken struct {
	next  http.RoundTripper
	token string
}

func (w withToken) RoundTrip(request *http.Request) (*http.Response, error) {
	request.Header.Set("Authorization", "Bearer "+w.token)
	return w.next.RoundTrip(request)
}
