// Package kubesim runs kubesim as a process for the tests of an operator: a kubelet for the API server of envtest,
// whose clock is in the hand of the test. It needs the standard library only.
package kubesim

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// Process is a running kubesim.
type Process struct {
	command   *exec.Cmd
	directory string
	ended     chan error
}

// StartNodes registers simulated nodes at the API server of a kubeconfig and runs the pods that are bound to them.
// The options are those of `kubesim node`, such as "--name", "worker", "--count", "3".
func StartNodes(kubeconfig string, options ...string) (*Process, error) {
	return start(append([]string{"node", "--kubeconfig", kubeconfig, "--allow-writes"}, options...))
}

// StartCluster starts a whole cluster that writes its kubeconfig. The options are those of `kubesim up`.
func StartCluster(kubeconfig string, options ...string) (*Process, error) {
	return start(append([]string{"up", "--kubeconfig", kubeconfig}, options...))
}

func start(words []string) (*Process, error) {
	directory, err := os.MkdirTemp("", "kubesim-")
	if err != nil {
		return nil, err
	}
	program := os.Getenv("KUBESIM")
	if program == "" {
		program = "kubesim"
	}
	process := &Process{directory: directory, ended: make(chan error, 1)}
	process.command = exec.Command(program, append(words, "--control", process.socket())...)
	process.command.Stderr = os.Stderr
	output, err := process.command.StdoutPipe()
	if err == nil {
		err = process.command.Start()
	}
	if err != nil {
		os.RemoveAll(directory)
		return nil, err
	}
	lines := bufio.NewScanner(output)
	ready := lines.Scan() // the first line says that it is ready
	go func() {
		for lines.Scan() {
		}
		process.ended <- process.command.Wait()
	}()
	if !ready {
		err := <-process.ended
		os.RemoveAll(directory)
		return nil, fmt.Errorf("kubesim %s does not start: %v", words[0], err)
	}
	return process, nil
}

// Advance simulates a duration as fast as possible and returns at its end.
func (p *Process) Advance(duration time.Duration) error {
	return p.clock(map[string]any{"command": "advance", "duration": duration.String()})
}

// Pause lets the time of the nodes stand still until Resume; Advance still works.
func (p *Process) Pause() error { return p.clock(map[string]any{"command": "pause"}) }

// Resume ends a pause.
func (p *Process) Resume() error { return p.clock(map[string]any{"command": "resume"}) }

// Stop ends the process. Its nodes stay registered, as after the crash of a kubelet.
func (p *Process) Stop() error {
	defer os.RemoveAll(p.directory)
	if err := p.command.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	return <-p.ended
}

func (p *Process) socket() string { return filepath.Join(p.directory, "clock") }

func (p *Process) clock(command map[string]any) error {
	connection, err := net.Dial("unix", p.socket())
	if err != nil {
		return err
	}
	defer connection.Close()
	if err := json.NewEncoder(connection).Encode(command); err != nil {
		return err
	}
	var answer struct{ Error string }
	if err := json.NewDecoder(connection).Decode(&answer); err != nil {
		return err
	}
	if answer.Error != "" {
		return fmt.Errorf("kubesim: %s", answer.Error)
	}
	return nil
}
