// Simulates many API servers: each client has a connection and sends one review after the other. Without a rate, a
// client sends the next review as soon as it has a response, so the number of calls in flight is the number of clients.
// With a rate, each call has a scheduled time, and its latency counts from that time.
package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

func main() {
	address := flag.String("address", "", "Where webhooks are served.")
	certificate := flag.String("certificate", "", "The file of the server's certificate.")
	review := flag.String("review", "", "The file of the review to send.")
	clients := flag.Int("clients", 500, "How many calls are in flight.")
	rate := flag.Float64("rate", 0, "How many calls all clients send each second; 0 for as many as are answered.")
	warmup := flag.Duration("warmup", time.Second, "How long to send before it counts.")
	duration := flag.Duration("duration", 5*time.Second, "How long to send.")
	flag.Parse()
	result, err := run(*address, *certificate, *review, flag.Args(), *clients, *rate, *warmup, *duration)
	if err != nil {
		log.Fatal(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(result); err != nil {
		log.Fatal(err)
	}
}

// result is the measured latencies, in milliseconds.
type result struct {
	Count  int     `json:"count"`
	Median float64 `json:"median"`
	P99    float64 `json:"p99"`
}

func run(address, certificate, review string, paths []string, clients int, rate float64, warmup, duration time.Duration) (*result, error) {
	pem, err := os.ReadFile(certificate)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, errors.New("no certificate")
	}
	body, err := os.ReadFile(review)
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return nil, errors.New("no paths")
	}
	// All clients connect before the first call.
	connections := make([]*tls.Conn, clients)
	for index := range connections {
		connections[index], err = tls.Dial("tcp", address, &tls.Config{RootCAs: roots, NextProtos: []string{"http/1.1"}})
		if err != nil {
			return nil, err
		}
		defer connections[index].Close()
	}

	// The time between two calls of a client.
	var pause time.Duration
	if rate > 0 {
		pause = time.Duration(float64(clients) / rate * float64(time.Second))
	}
	begin := time.Now()
	var counts, ends atomic.Bool
	var group sync.WaitGroup
	latencies := make([][]time.Duration, clients)
	failures := make([]error, clients)
	for index, connection := range connections {
		path := paths[index%len(paths)]
		request := fmt.Appendf(nil, "POST %s?timeout=10s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n"+
			"Accept: application/json, */*\r\nContent-Length: %d\r\n\r\n%s", path, address, len(body), body)
		group.Go(func() {
			reader := bufio.NewReader(connection)
			// The clients take turns.
			next := begin.Add(pause * time.Duration(index) / time.Duration(clients))
			for !ends.Load() {
				start := time.Now()
				if pause > 0 {
					time.Sleep(next.Sub(start))
					start, next = next, next.Add(pause)
				}
				if err := call(connection, reader, request); err != nil {
					failures[index] = err
					return
				}
				if counts.Load() {
					latencies[index] = append(latencies[index], time.Since(start))
				}
			}
		})
	}
	time.Sleep(warmup)
	counts.Store(true)
	time.Sleep(duration)
	ends.Store(true)
	group.Wait()
	if err := errors.Join(failures...); err != nil {
		return nil, err
	}
	all := slices.Concat(latencies...)
	if len(all) < 100 {
		return nil, fmt.Errorf("only %d calls were answered", len(all))
	}
	slices.Sort(all)
	at := func(part int) float64 { return all[len(all)*part/100].Seconds() * 1000 }
	return &result{Count: len(all), Median: at(50), P99: at(99)}, nil
}

var allowed = []byte(`"allowed":true`)

func call(connection *tls.Conn, reader *bufio.Reader, request []byte) error {
	if _, err := connection.Write(request); err != nil {
		return err
	}
	response, err := http.ReadResponse(reader, nil)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK || !bytes.Contains(answer, allowed) {
		return fmt.Errorf("%s: %s", response.Status, answer)
	}
	return nil
}
