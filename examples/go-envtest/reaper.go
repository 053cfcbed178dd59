// Package reaper is a small operator: it deletes pods that crash again and again.
package reaper

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// Reaper deletes pods with a container that was restarted at least this many times.
type Reaper struct {
	Client   *http.Client
	Server   string
	Restarts int
}

type podList struct {
	Items []struct {
		Metadata struct{ Name string }
		Status   struct {
			ContainerStatuses []struct{ RestartCount int }
		}
	}
}

// Reconcile looks at all pods of a namespace once and returns the names of the deleted ones.
func (r Reaper) Reconcile(namespace string) ([]string, error) {
	path := fmt.Sprintf("%s/api/v1/namespaces/%s/pods", r.Server, namespace)
	answer, err := r.Client.Get(path)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	var pods podList
	if err := json.NewDecoder(answer.Body).Decode(&pods); err != nil {
		return nil, err
	}
	var deleted []string
	for _, pod := range pods.Items {
		for _, status := range pod.Status.ContainerStatuses {
			if status.RestartCount < r.Restarts {
				continue
			}
			request, err := http.NewRequest(http.MethodDelete, path+"/"+pod.Metadata.Name, nil)
			if err != nil {
				return deleted, err
			}
			gone, err := r.Client.Do(request)
			if err != nil {
				return deleted, err
			}
			gone.Body.Close()
			deleted = append(deleted, pod.Metadata.Name)
			break
		}
	}
	return deleted, nil
}
