// SPDX-License-Identifier: MIT

// The endpoints of the tests on net/http. Apache passes what it does not do itself to the cleartext port.
//
// Usage: server DIRECTORY PLAIN TLS    a directory with the certificates and `files`, and descriptors of listening sockets
package main

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// A board has what tests agree on by a name of their own: steps, gates and bodies.
type board struct {
	lock    sync.Mutex
	steps   map[string]chan struct{}
	arrived map[string]int
	limits  map[string]int
	gates   map[string]chan struct{}
	bodies  map[string][]string
}

var shared = board{
	steps: map[string]chan struct{}{}, arrived: map[string]int{}, limits: map[string]int{},
	gates: map[string]chan struct{}{}, bodies: map[string][]string{},
}

func (b *board) step(name string) chan struct{} {
	b.lock.Lock()
	defer b.lock.Unlock()
	if b.steps[name] == nil {
		b.steps[name] = make(chan struct{}, 100)
	}
	return b.steps[name]
}

// The gate opens for good once it has a limit and that many requests.
func (b *board) gate(name string, arrivals, limit int) chan struct{} {
	b.lock.Lock()
	defer b.lock.Unlock()
	if b.gates[name] == nil {
		b.gates[name] = make(chan struct{})
	}
	before := b.limits[name] > 0 && b.arrived[name] >= b.limits[name]
	b.arrived[name] += arrivals
	if limit > 0 {
		b.limits[name] = limit
	}
	if !before && b.limits[name] > 0 && b.arrived[name] >= b.limits[name] {
		close(b.gates[name])
	}
	return b.gates[name]
}

func (b *board) add(name, body string) {
	b.lock.Lock()
	defer b.lock.Unlock()
	b.bodies[name] = append(b.bodies[name], body)
}

func (b *board) added(name string) string {
	b.lock.Lock()
	defer b.lock.Unlock()
	return strings.Join(b.bodies[name], ",")
}

// Whether the request is still wanted once the channel lets it pass.
func passes(r *http.Request, channel chan struct{}) bool {
	select {
	case <-channel:
		return true
	case <-r.Context().Done():
		return false
	}
}

func text(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "text/plain")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	io.WriteString(w, body)
}

func stepwise(w http.ResponseWriter, r *http.Request, name string) {
	for _, chunk := range []string{"one", "two", "three"} {
		if chunk != "one" && !passes(r, shared.step(name)) {
			return
		}
		io.WriteString(w, chunk)
		w.(http.Flusher).Flush()
	}
}

// Half of a body, and then the end of its stream or connection.
func cut(w http.ResponseWriter, body []byte, hasLength bool) {
	if hasLength {
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	}
	w.Write(body[:len(body)/2])
	w.(http.Flusher).Flush()
	panic(http.ErrAbortHandler)
}

func compressed(w http.ResponseWriter, r *http.Request, body []byte) {
	if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		w.Write(body)
		return
	}
	w.Header().Set("Content-Encoding", "gzip")
	w.Header().Set("Content-Type", "text/plain")
	compressor := gzip.NewWriter(w)
	defer compressor.Close()
	compressor.Write(body)
}

func echo(w http.ResponseWriter, r *http.Request) {
	// The whole body first: net/http reads none of HTTP/1.1 after it has begun to write.
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Write(body)
}

func routes(files map[string][]byte, directory string) http.Handler {
	routes := http.NewServeMux()
	route := func(path string, body func(http.ResponseWriter, *http.Request, string)) {
		routes.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			body(w, r, strings.TrimPrefix(r.URL.Path, path))
		})
	}
	route("/files/", func(w http.ResponseWriter, r *http.Request, name string) {
		w.Header().Set("ETag", fmt.Sprintf("%q", name))
		http.ServeFile(w, r, filepath.Join(directory, "files", filepath.Base(name)))
	})
	route("/none", func(w http.ResponseWriter, _ *http.Request, _ string) { w.WriteHeader(http.StatusNoContent) })
	route("/missing", func(w http.ResponseWriter, _ *http.Request, _ string) {
		text(w, http.StatusNotFound, string(files["missing"]))
	})
	route("/gzip", func(w http.ResponseWriter, r *http.Request, _ string) { compressed(w, r, files["text"]) })
	route("/head", func(w http.ResponseWriter, _ *http.Request, _ string) {
		for number := 0; number < 10; number++ {
			w.Header().Set(fmt.Sprintf("X-Field-%d", number), strings.Repeat("a", 4096))
		}
		text(w, http.StatusOK, "head")
	})
	route("/refused", func(w http.ResponseWriter, _ *http.Request, _ string) {
		text(w, http.StatusRequestEntityTooLarge, "refused")
	})
	route("/moved", func(w http.ResponseWriter, r *http.Request, _ string) {
		w.Header().Set("Location", "/echo")
		text(w, http.StatusTemporaryRedirect, "moved")
	})
	route("/echo", func(w http.ResponseWriter, r *http.Request, _ string) { echo(w, r) })
	route("/trailers", func(w http.ResponseWriter, _ *http.Request, _ string) {
		w.Header().Set("Trailer", "X-Sum")
		io.WriteString(w, "body")
		w.(http.Flusher).Flush()
		w.Header().Set("X-Sum", "1")
	})
	route("/hints", func(w http.ResponseWriter, _ *http.Request, _ string) {
		w.Header().Set("Link", "</style.css>; rel=preload")
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Del("Link")
		text(w, http.StatusOK, "hinted")
	})
	route("/steps/", stepwise)
	route("/release/", func(w http.ResponseWriter, r *http.Request, name string) {
		shared.step(name) <- struct{}{}
		text(w, http.StatusOK, "released")
	})
	// Waits for `/open/NAME/COUNT`, which opens the gate for that many requests and all later ones.
	route("/gate/", func(w http.ResponseWriter, r *http.Request, name string) {
		if passes(r, shared.gate(name, 1, 0)) {
			shared.add(name, r.URL.Query().Get("id"))
			text(w, http.StatusOK, "passed")
		}
	})
	route("/open/", func(w http.ResponseWriter, r *http.Request, path string) {
		name, count, _ := strings.Cut(path, "/")
		limit, _ := strconv.Atoi(count)
		if passes(r, shared.gate(name, 0, limit)) {
			text(w, http.StatusOK, "opened")
		}
	})
	route("/add/", func(w http.ResponseWriter, r *http.Request, name string) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		shared.add(name, string(body))
		text(w, http.StatusOK, "added")
	})
	route("/added/", func(w http.ResponseWriter, _ *http.Request, name string) {
		text(w, http.StatusOK, shared.added(name))
	})
	route("/cut/length", func(w http.ResponseWriter, _ *http.Request, _ string) { cut(w, files["large"], true) })
	route("/cut/chunked", func(w http.ResponseWriter, _ *http.Request, _ string) { cut(w, files["large"], false) })
	return shortLived(routes)
}

type connectionKey struct{}

func counting(background context.Context, _ net.Conn) context.Context {
	return context.WithValue(background, connectionKey{}, new(atomic.Int64))
}

// Ends each connection to the host `short.localhost` after ten requests, over HTTP/2 by a GOAWAY.
func shortLived(routes http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests := r.Context().Value(connectionKey{}).(*atomic.Int64)
		if strings.HasPrefix(r.Host, "short.") && requests.Add(1) >= 10 {
			w.Header().Set("Connection", "close")
		}
		routes.ServeHTTP(w, r)
	})
}

func main() {
	directory := os.Args[1]
	files := map[string][]byte{}
	for _, name := range []string{"text", "large", "missing"} {
		content, err := os.ReadFile(filepath.Join(directory, "files", name))
		if err != nil {
			log.Fatal(err)
		}
		files[name] = content
	}
	server := &http.Server{Handler: routes(files, directory), ConnContext: counting}
	failures := make(chan error)
	go func() { failures <- server.Serve(listener(os.Args[2])) }()
	go func() {
		certificate, key := filepath.Join(directory, "server-chain.pem"), filepath.Join(directory, "server.key")
		failures <- server.ServeTLS(listener(os.Args[3]), certificate, key)
	}()
	log.Fatal(<-failures)
}

func listener(descriptor string) net.Listener {
	number, err := strconv.Atoi(descriptor)
	if err != nil {
		log.Fatal(err)
	}
	listening, err := net.FileListener(os.NewFile(uintptr(number), "listener"))
	if err != nil {
		log.Fatal(err)
	}
	return listening
}
