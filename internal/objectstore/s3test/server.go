// Package s3test is a small S3 server in memory, for tests only. It checks signatures and the
// SHA-256 of bodies, and fails as a test wants it to.
package s3test

import (
	"cmp"
	"crypto/hmac"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Credentials and region that the server takes.
const (
	AccessKey = "AKIDTEST"
	SecretKey = "a-secret-that-no-log-may-have"
	Bucket    = "backups"
	Region    = "us-east-1"
)

// Server is a storage with one bucket.
type Server struct {
	*httptest.Server
	// Fault is called with each request before it is served; it returns the status and the code of
	// an error, or 0, or has answered by itself and returns -1.
	Fault func(w http.ResponseWriter, r *http.Request) (status int, code string)
	Clock func() time.Time // default time.Now

	mu      sync.Mutex
	objects map[string]object
	uploads map[string]*upload
	made    int
}

type object struct {
	body []byte
	at   time.Time
}

type upload struct {
	key   string
	parts map[int][]byte
}

// New starts a server; the test closes it.
func New() *Server {
	s := &Server{objects: map[string]object{}, uploads: map[string]*upload{}, Clock: time.Now}
	s.Server = httptest.NewServer(s)
	return s
}

// Environment is what a client needs to use the server.
func (s *Server) Environment() map[string]string {
	return map[string]string{"AWS_ENDPOINT_URL": s.URL, "AWS_ENDPOINT_URL_S3": "", "AWS_ACCESS_KEY_ID": AccessKey, "AWS_SECRET_ACCESS_KEY": SecretKey,
		"AWS_SESSION_TOKEN": "", "AWS_REGION": Region, "AWS_PROFILE": ""}
}

// Objects returns the keys of the complete objects.
func (s *Server) Objects() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.objects))
}

// Uploads returns the keys of the multipart uploads that are neither complete nor aborted.
func (s *Server) Uploads() (keys []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, u := range s.uploads {
		keys = append(keys, u.key)
	}
	slices.Sort(keys)
	return keys
}

// Object returns the bytes of an object; nil if there is none.
func (s *Server) Object(key string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.objects[key].body
}

// Set makes or replaces an object.
func (s *Server) Set(key string, body []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.objects[key] = object{body, s.Clock()}
}

func fail(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	fmt.Fprintf(w, "<Error><Code>%s</Code><Message>message of %s</Message></Error>", code, code)
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.Fault != nil {
		if status, code := s.Fault(w, r); status > 0 {
			fail(w, status, code)
			return
		} else if status < 0 {
			return
		}
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	if code := s.signature(r, body); code != "" {
		fail(w, http.StatusForbidden, code)
		return
	}
	bucket, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if bucket != Bucket {
		fail(w, http.StatusNotFound, "NoSuchBucket")
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	q := r.URL.Query()
	switch {
	case key == "" && q.Has("uploads"):
		s.listUploads(w, q.Get("prefix"))
	case key == "":
		s.list(w, q.Get("prefix"))
	case q.Has("uploads") || q.Has("uploadId"):
		s.multipart(w, r, key, body)
	case r.Method == http.MethodPut:
		s.objects[key] = object{body, s.Clock()}
		w.Header().Set("ETag", etag(body))
	case r.Method == http.MethodDelete:
		delete(s.objects, key)
		w.WriteHeader(http.StatusNoContent)
	default:
		o, ok := s.objects[key]
		if !ok {
			fail(w, http.StatusNotFound, "NoSuchKey")
			return
		}
		w.Header().Set("ETag", etag(o.body))
		http.ServeContent(w, r, "", o.at, strings.NewReader(string(o.body)))
	}
}

func etag(body []byte) string { return fmt.Sprintf("%q", fmt.Sprintf("%x", md5.Sum(body))) }

func (s *Server) multipart(w http.ResponseWriter, r *http.Request, key string, body []byte) {
	q := r.URL.Query()
	if q.Has("uploads") {
		s.made++
		id := strconv.Itoa(s.made)
		s.uploads[id] = &upload{key, map[int][]byte{}}
		fmt.Fprintf(w, "<InitiateMultipartUploadResult><Bucket>%s</Bucket><Key>%s</Key><UploadId>%s</UploadId></InitiateMultipartUploadResult>", Bucket, key, id)
		return
	}
	id := q.Get("uploadId")
	u := s.uploads[id]
	if u == nil {
		fail(w, http.StatusNotFound, "NoSuchUpload")
		return
	}
	switch r.Method {
	case http.MethodPut:
		n, _ := strconv.Atoi(q.Get("partNumber"))
		u.parts[n] = body
		w.Header().Set("ETag", etag(body))
	case http.MethodDelete:
		delete(s.uploads, id)
		w.WriteHeader(http.StatusNoContent)
	case http.MethodPost:
		var all struct {
			Part []struct {
				PartNumber int
				ETag       string
			}
		}
		if err := xml.Unmarshal(body, &all); err != nil {
			fail(w, http.StatusBadRequest, "MalformedXML")
			return
		}
		var whole []byte
		for _, p := range all.Part {
			if u.parts[p.PartNumber] == nil || strings.Trim(etag(u.parts[p.PartNumber]), `"`) != strings.Trim(p.ETag, `"`) {
				fail(w, http.StatusBadRequest, "InvalidPart")
				return
			}
			whole = append(whole, u.parts[p.PartNumber]...)
		}
		s.objects[key] = object{whole, s.Clock()}
		delete(s.uploads, id)
		fmt.Fprintf(w, "<CompleteMultipartUploadResult><Bucket>%s</Bucket><Key>%s</Key><ETag>%s</ETag></CompleteMultipartUploadResult>", Bucket, key, etag(whole))
	}
}

func (s *Server) list(w http.ResponseWriter, prefix string) {
	type content struct {
		Key, LastModified, ETag string
		Size                    int
	}
	var out struct {
		XMLName  xml.Name `xml:"ListBucketResult"`
		Contents []content
	}
	for _, key := range slices.Sorted(maps.Keys(s.objects)) {
		if rest, ok := strings.CutPrefix(key, prefix); ok && !strings.Contains(rest, "/") {
			out.Contents = append(out.Contents, content{key, s.objects[key].at.UTC().Format(time.RFC3339), etag(s.objects[key].body), len(s.objects[key].body)})
		}
	}
	xml.NewEncoder(w).Encode(out)
}

func (s *Server) listUploads(w http.ResponseWriter, prefix string) {
	type entry struct{ Key, UploadId, Initiated string }
	var out struct {
		XMLName xml.Name `xml:"ListMultipartUploadsResult"`
		Upload  []entry
	}
	for id, u := range s.uploads {
		if strings.HasPrefix(u.key, prefix) {
			out.Upload = append(out.Upload, entry{u.key, id, s.Clock().UTC().Format(time.RFC3339)})
		}
	}
	xml.NewEncoder(w).Encode(out)
}

// signature checks the signature of a request, version 4, and returns the code of an error.
func (s *Server) signature(r *http.Request, body []byte) string {
	fields := map[string]string{}
	for f := range strings.SplitSeq(strings.TrimPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 "), ",") {
		k, v, _ := strings.Cut(strings.TrimSpace(f), "=")
		fields[k] = v
	}
	scope := strings.Split(fields["Credential"], "/")
	if len(scope) != 5 {
		return "AccessDenied"
	}
	date := r.Header.Get("X-Amz-Date")
	at, err := time.Parse("20060102T150405Z", date)
	switch sum := sha256.Sum256(body); {
	case scope[0] != AccessKey:
		return "InvalidAccessKeyId"
	case err != nil || s.Clock().Sub(at).Abs() > 15*time.Minute:
		return "RequestTimeTooSkewed"
	case r.Header.Get("X-Amz-Content-Sha256") != hex.EncodeToString(sum[:]) && (len(body) > 0 || r.Header.Get("X-Amz-Content-Sha256") != "UNSIGNED-PAYLOAD"):
		return "XAmzContentSHA256Mismatch"
	}
	names := strings.Split(fields["SignedHeaders"], ";")
	canonical := r.Method + "\n" + r.URL.EscapedPath() + "\n" + strings.ReplaceAll(r.URL.Query().Encode(), "+", "%20") + "\n"
	for _, n := range names {
		canonical += n + ":" + strings.TrimSpace(cmp.Or(r.Header.Get(n), map[string]string{"host": r.Host, "content-length": strconv.Itoa(len(body))}[n])) + "\n"
	}
	canonical += "\n" + fields["SignedHeaders"] + "\n" + r.Header.Get("X-Amz-Content-Sha256")
	sum := sha256.Sum256([]byte(canonical))
	text := "AWS4-HMAC-SHA256\n" + date + "\n" + strings.Join(scope[1:], "/") + "\n" + hex.EncodeToString(sum[:])
	key := []byte("AWS4" + SecretKey)
	for _, part := range append(slices.Clone(scope[1:]), text) {
		h := hmac.New(sha256.New, key)
		h.Write([]byte(part))
		key = h.Sum(nil)
	}
	if hex.EncodeToString(key) != fields["Signature"] {
		return "SignatureDoesNotMatch"
	}
	return ""
}

// Is reports whether a request is one of the operations of a multipart upload, or any other by its
// method.
func Is(r *http.Request, operation string) bool {
	q := r.URL.Query()
	switch operation {
	case "create":
		return r.Method == http.MethodPost && q.Has("uploads")
	case "part":
		return r.Method == http.MethodPut && q.Has("partNumber")
	case "complete":
		return r.Method == http.MethodPost && q.Has("uploadId")
	case "abort":
		return r.Method == http.MethodDelete && q.Has("uploadId")
	}
	return r.Method == operation && q.Get("uploadId") == ""
}

// Host returns the host and port of the server.
func (s *Server) Host() string {
	u, err := url.Parse(s.URL)
	if err != nil {
		return ""
	}
	return u.Host
}
