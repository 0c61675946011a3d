// SPDX-License-Identifier: MIT

// Go's net/http, as its documentation uses it: Get, io.ReadAll, Close. The first argument is http1 or http2. It performs
// the assignments of requests and streams, as the contenders in Swift do.
package main

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

type task struct {
	URL      string  `json:"_0"`
	To       string  `json:"to"`
	Size     int     `json:"size"`
	InFlight int     `json:"inFlight"`
	Seconds  float64 `json:"seconds"`
}

type figure struct {
	Count            int64   `json:"count"`
	Seconds          float64 `json:"seconds"`
	ProcessorSeconds float64 `json:"processorSeconds"`
	MemoryBefore     int     `json:"memoryBefore"`
	MemoryPeak       int     `json:"memoryPeak"`
}

type user struct {
	ID       int    `json:"id"`
	Name     string `json:"name"`
	IsActive bool   `json:"isActive"`
}

func main() {
	client := &http.Client{Transport: transport(os.Args[len(os.Args)-1])}
	input := bufio.NewReader(os.Stdin)
	for {
		line, err := input.ReadBytes('\n')
		if err == io.EOF {
			return
		}
		check(err)
		var assignment map[string]task
		check(json.Unmarshal(line, &assignment))
		var result figure
		for kind, task := range assignment {
			switch kind {
			case "bodies":
				result = repeated(task, func() error { return body(client, task.URL, task.Size) })
			case "requests":
				result = repeated(task, func() error { return decoded(client, task.URL) })
			case "firstEvents":
				task.InFlight = 1
				result = repeated(task, func() error { return firstEvent(client, task.URL) })
			case "stream":
				result = measured(func() int64 { return stream(client, task.URL) })
			case "lines":
				result = measured(func() int64 { return lines(client, task.URL) })
			case "upload":
				result = measured(func() int64 { return upload(client, task.URL, task.To) })
			default:
				check(fmt.Errorf("not measured: %s", line))
			}
		}
		check(json.NewEncoder(os.Stdout).Encode(result))
	}
}

func transport(version string) *http.Transport {
	settings := &tls.Config{}
	if path := os.Getenv("PULSE_AUTHORITY"); path != "" {
		authority, err := os.ReadFile(path)
		check(err)
		settings.RootCAs = x509.NewCertPool()
		settings.RootCAs.AppendCertsFromPEM(authority)
	}
	transport := &http.Transport{TLSClientConfig: settings, MaxIdleConns: 256, MaxIdleConnsPerHost: 256}
	if version == "http2" {
		transport.ForceAttemptHTTP2 = true
	} else {
		transport.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{}
	}
	return transport
}

func open(client *http.Client, url string) *http.Response {
	response, err := client.Get(url)
	check(err)
	checkStatus(response)
	return response
}

func checkStatus(response *http.Response) {
	if response.StatusCode/100 != 2 {
		check(fmt.Errorf("status %d", response.StatusCode))
	}
}

func get(client *http.Client, url string) ([]byte, error) {
	response := open(client, url)
	defer response.Body.Close()
	return io.ReadAll(response.Body)
}

func stream(client *http.Client, url string) int64 {
	response := open(client, url)
	defer response.Body.Close()
	count, err := io.Copy(io.Discard, response.Body)
	check(err)
	return count
}

func lines(client *http.Client, url string) (count int64) {
	response := open(client, url)
	defer response.Body.Close()
	for scanner := bufio.NewScanner(response.Body); scanner.Scan(); {
		if scanner.Text() != "" {
			count++
		}
	}
	return count
}

// It has no event streams: the first line is found by hand, which is less than parsing an event.
func firstEvent(client *http.Client, url string) error {
	request, err := http.NewRequest("GET", url, nil)
	check(err)
	request.Header.Set("Accept", "text/event-stream")
	response, err := client.Do(request)
	check(err)
	checkStatus(response)
	defer response.Body.Close()
	_, err = bufio.NewReader(response.Body).ReadString('\n')
	return err
}

func upload(client *http.Client, from string, to string) int64 {
	file, err := os.Open(strings.TrimPrefix(from, "file://"))
	check(err)
	information, err := file.Stat()
	check(err)
	request, err := http.NewRequest("PUT", to, file)
	check(err)
	request.ContentLength = information.Size()
	response, err := client.Do(request)
	check(err)
	checkStatus(response)
	check(response.Body.Close())
	return information.Size()
}

func body(client *http.Client, url string, size int) error {
	bytes, err := get(client, url)
	if err == nil && len(bytes) != size {
		err = fmt.Errorf("%d bytes in place of %d", len(bytes), size)
	}
	return err
}

func decoded(client *http.Client, url string) error {
	bytes, err := get(client, url)
	if err != nil {
		return err
	}
	var user user
	if err := json.Unmarshal(bytes, &user); err != nil {
		return err
	}
	if user.ID != 42 {
		return fmt.Errorf("user %d", user.ID)
	}
	return nil
}

// Limited by time, not by count, so that a slow contender's round takes no longer than a fast one's.
func repeated(task task, request func() error) figure {
	return measured(func() (count int64) {
		end := time.Now().Add(time.Duration(task.Seconds * float64(time.Second)))
		var group sync.WaitGroup
		for index := 0; index < task.InFlight; index++ {
			group.Add(1)
			go func() {
				defer group.Done()
				for first := true; first || time.Now().Before(end); first = false {
					check(request())
					atomic.AddInt64(&count, 1)
				}
			}()
		}
		group.Wait()
		return count
	})
}

func measured(work func() int64) figure {
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
	memory, processor, start := resident("VmRSS"), processorSeconds(), time.Now()
	count := work()
	return figure{count, time.Since(start).Seconds(), processorSeconds() - processor, memory, resident("VmHWM")}
}

func processorSeconds() float64 {
	var usage syscall.Rusage
	check(syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	seconds := func(time syscall.Timeval) float64 { return float64(time.Sec) + float64(time.Usec)/1e6 }
	return seconds(usage.Utime) + seconds(usage.Stime)
}

// Bytes; 0 outside Linux.
func resident(name string) int {
	status, _ := os.ReadFile("/proc/self/status")
	for _, line := range strings.Split(string(status), "\n") {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == name+":" {
			kibibytes, _ := strconv.Atoi(fields[1])
			return kibibytes << 10
		}
	}
	return 0
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "net/http:", err, "on", runtime.Version())
		os.Exit(1)
	}
}
