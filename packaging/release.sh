#!/usr/bin/env bash
# Builds what a version consists of into dist/: archives of both programs for each platform, deb and rpm packages, an OCI image as a tarball, an
# SBOM (CycloneDX) and checksums. One machine builds all of it: there is no cgo, and no container daemon is asked. The same commit gives the same
# archives and images. Needs Go, GNU tar and zip, and on the first run the network, for the tools that `go run` fetches.
# VERSION names the version (default: git describe), TARGETS the platforms, e.g. TARGETS=linux/amd64.
set -euo pipefail
cd "$(dirname "$0")/.."
version=${VERSION:-$(git describe --tags --always --dirty)} dist=$PWD/dist
targets=${TARGETS:-linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64}
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH CGO_ENABLED=0
nfpm=github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.43.4
sbom=github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0
pack() { tar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner -c "$@"; }

rm -rf "$dist"
mkdir -p "$dist"/files/{completions,man}
go build -o "$dist/host/" ./cmd/...
for p in searchd ingest; do
  for s in bash zsh fish; do "$dist/host/$p" completion $s >"$dist/files/completions/$p.$s"; done
done
"$dist/host/searchd" man "$dist/files/man"
"$dist/host/ingest" --man >"$dist/files/man/ingest.1"
gzip -9 -n "$dist"/files/man/*.1

# image ARCH BIN: the programs over nothing but certificates, a user and an empty data folder, in the layout that docker load, podman load and skopeo read.
image() {
  local arch=$1 bin=$2 root=$dist/image layer config manifest
  rm -rf "$root"
  mkdir -p "$root"/rootfs/{bin,data,etc/ssl/certs,tmp} "$root"/oci/blobs/sha256
  cp "$bin"/* "$root/rootfs/bin/"
  echo 'nonroot:x:65532:65532::/data:/sbin/nologin' >"$root/rootfs/etc/passwd"
  for f in /etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt /etc/ssl/cert.pem; do
    if [ -e $f ]; then cp -L $f "$root/rootfs/etc/ssl/certs/ca-certificates.crt" && break; fi
  done
  chmod 1777 "$root/rootfs/tmp"
  { # the data folder is the user's; what is packed later is root's
    pack -C "$root/rootfs" bin etc tmp >"$root/layer.tar"
    tar --append --file "$root/layer.tar" --mtime="@$SOURCE_DATE_EPOCH" --owner=65532 --group=65532 --numeric-owner -C "$root/rootfs" data
  }
  blob() { # puts a file among the blobs, prints its digest and size
    local sum
    sum=$(sha256sum "$1" | cut -d' ' -f1)
    cp "$1" "$root/oci/blobs/sha256/$sum"
    printf '"digest":"sha256:%s","size":%d' "$sum" "$(wc -c <"$1")"
  }
  local diff
  diff=$(sha256sum "$root/layer.tar" | cut -d' ' -f1)
  gzip -n -6 "$root/layer.tar"
  layer=$(blob "$root/layer.tar.gz")
  cat >"$root/config.json" <<END
{"created":"$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)","architecture":"$arch","os":"linux","config":{"User":"65532:65532","Env":["PATH=/bin","SEARCHD_DATA=/data","SEARCHD_ADDR=0.0.0.0:8080","SEARCHD_LOG_FORMAT=json"],"Entrypoint":["/bin/searchd"],"Cmd":["serve"],"ExposedPorts":{"8080/tcp":{}},"Volumes":{"/data":{}},"Labels":{"org.opencontainers.image.version":"$version","org.opencontainers.image.revision":"$(git rev-parse HEAD)","org.opencontainers.image.licenses":"Apache-2.0"}},"rootfs":{"type":"layers","diff_ids":["sha256:$diff"]},"history":[{"created_by":"packaging/release.sh"}]}
END
  config=$(blob "$root/config.json")
  cat >"$root/manifest.json" <<END
{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":{"mediaType":"application/vnd.oci.image.config.v1+json",$config},"layers":[{"mediaType":"application/vnd.oci.image.layer.v1.tar+gzip",$layer}]}
END
  manifest=$(blob "$root/manifest.json")
  echo '{"imageLayoutVersion":"1.0.0"}' >"$root/oci/oci-layout"
  cat >"$root/oci/index.json" <<END
{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[{"mediaType":"application/vnd.oci.image.manifest.v1+json",$manifest,"platform":{"architecture":"$arch","os":"linux"},"annotations":{"org.opencontainers.image.ref.name":"$version","io.containerd.image.name":"searchd:$version"}}]}
END
  pack -C "$root/oci" . | gzip -n >"$dist/searchd_${version}_oci_linux_$arch.tar.gz"
}

for target in $targets; do
  os=${target%/*} arch=${target#*/} name=searchd_${version}_${os}_$arch
  echo "$target"
  GOOS=$os GOARCH=$arch go build -trimpath -ldflags "-s -w" -o "$dist/bin/$os-$arch/" ./cmd/...
  mkdir -p "$dist/$name"
  cp -r LICENSE NOTICE README.md CHANGELOG.md docs examples packaging/systemd "$dist/files/completions" "$dist/files/man" "$dist/bin/$os-$arch"/* "$dist/$name/"
  if [ "$os" = windows ]; then
    (cd "$dist" && TZ=UTC find "$name" -exec touch -d "@$SOURCE_DATE_EPOCH" {} + && find "$name" | LC_ALL=C sort | zip -q -X "$name.zip" -@)
  else
    pack -C "$dist" "$name" | gzip -n -9 >"$dist/$name.tar.gz"
  fi
  rm -rf "${dist:?}/$name"
  [ "$os" = linux ] || continue
  image "$arch" "$dist/bin/$os-$arch"
  for format in deb rpm; do
    number=${version#v}
    case $number in [0-9]*.*) ;; *) number=0.0.0~$number ;; esac # a commit without a version
    ARCH=$arch VERSION=$number DIST=dist BIN=dist/bin/$os-$arch go run $nfpm package -f packaging/nfpm.yaml -p $format -t "$dist/" >/dev/null
  done
  go run $sbom bin -json -output "$dist/$name.sbom.json" "$dist/bin/$os-$arch/searchd" 2>/dev/null
done
rm -rf "$dist"/{bin,files,host,image}
(cd "$dist" && sha256sum -- * >checksums.txt)
ls -l "$dist"
