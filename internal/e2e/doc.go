// Package e2e tests the whole path on the documents in testdata. It holds tests only.
package e2e
