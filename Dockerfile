# Both programs in an image without a shell, run by a user without rights. The data folder is a volume:
#
#	docker build -t searchd .
#	docker run --rm -v searchd:/data -v "$PWD/notes:/notes:ro" --entrypoint /bin/ingest searchd --data /data /notes
#	docker run -d -p 127.0.0.1:8080:8080 -v searchd:/data -e SEARCHD_ADMIN_KEY searchd
#
# The container's address is not loopback, so the server wants an API key: SEARCHD_ADMIN_KEY, or one made with `searchd keys create --data /data`.
FROM --platform=$BUILDPLATFORM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG TARGETOS TARGETARCH
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -ldflags "-s -w" -o /out/bin/ ./cmd/... && mkdir -p /out/data

FROM gcr.io/distroless/static-debian12:nonroot
COPY --from=build /out/bin/ /bin/
COPY --from=build --chown=nonroot:nonroot /out/data /data
VOLUME /data
EXPOSE 8080
USER nonroot
ENTRYPOINT ["/bin/searchd"]
CMD ["serve", "--data", "/data", "--addr", "0.0.0.0:8080"]
