# Both programs, as two targets: control-plane and operator. docs/images.md says how to build and run them.
#
#   docker build --target operator -t service-operator:0.2.0 .
#
# Only features that every BuildKit has: no `# syntax=` line, which would be one more image to mirror.

# Node 24 with npm, on Debian: compiles, and gives its Node to the runtime image.
ARG BUILD_IMAGE=node:24-bookworm-slim
# Debian of the same release; git and ca-certificates are added where it lacks them.
ARG RUNTIME_IMAGE=debian:bookworm-slim

# What the programs need, without install scripts: none of it needs one, and the package `node` would fetch a second Node.
# The secret `ca` is for builds behind a proxy that ends TLS; it stays out of the image.
FROM ${BUILD_IMAGE} AS dependencies
WORKDIR /build
# Else npm asks the registry for its own newest version, for a minute where it cannot be reached.
ENV npm_config_update_notifier=false
COPY package.json package-lock.json ./
RUN --mount=type=cache,target=/root/.npm --mount=type=secret,id=ca \
    if [ -s /run/secrets/ca ]; then export NODE_EXTRA_CA_CERTS=/run/secrets/ca; fi; \
    npm ci --omit=dev --ignore-scripts --no-audit --no-fund --loglevel=error
# What only people and compilers read is left out: it is half of all this.
RUN rm -rf node_modules/node node_modules/.bin node_modules/.package-lock.json node_modules/@types \
 && find node_modules -type f \( -name '*.ts' -o -name '*.mts' -o -name '*.cts' -o -name '*.map' -o -name '*.md' -o -name '*.tsbuildinfo' \) -delete \
 && find node_modules -depth -type d -empty -delete

FROM ${BUILD_IMAGE} AS build
WORKDIR /build
ENV npm_config_update_notifier=false
COPY package.json package-lock.json ./
RUN --mount=type=cache,target=/root/.npm --mount=type=secret,id=ca \
    if [ -s /run/secrets/ca ]; then export NODE_EXTRA_CA_CERTS=/run/secrets/ca; fi; \
    npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
COPY tsconfig.json tsconfig.build.json vite.config.ts ./
COPY src src
RUN npm run --silent build

FROM ${RUNTIME_IMAGE} AS runtime
# Debian's git would bring the whole of Perl for commands that are not used here (git send-email and the like). Its
# package is installed without that, so that scanners still see it; the programs run nothing but what is compiled.
# ssh is for Git hosts that take deploy keys; it refuses to run for a user without an entry in /etc/passwd.
# tini is the first process: it reaps what a git that was killed leaves behind, which Node does not.
RUN set -e; \
    if ! { command -v git && command -v ssh && command -v tini && [ -s /etc/ssl/certs/ca-certificates.crt ]; } >/dev/null; then \
      export DEBIAN_FRONTEND=noninteractive; \
      apt-get update -qq; \
      apt-get install -y -qq --no-install-recommends ca-certificates libcurl3-gnutls libexpat1 libpcre2-8-0 openssh-client tini zlib1g >/dev/null; \
      cd /tmp; \
      apt-get -o APT::Sandbox::User=root download -qq git; \
      dpkg --install --ignore-depends=perl,liberror-perl,git-man git_*.deb >/dev/null; \
      rm -rf /tmp/* /var/lib/apt/lists/* /var/cache/apt/* /var/cache/debconf/* /var/log/* /usr/share/doc/git; \
    fi; \
    echo 'service:x:65532:65532:service:/nonexistent:/usr/sbin/nologin' >>/etc/passwd; \
    mkdir -p /var/lib/service /var/lib/service-operator; \
    chown 65532:65532 /var/lib/service /var/lib/service-operator
COPY --from=build /usr/local/bin/node /usr/local/bin/node
WORKDIR /app
ENV NODE_ENV=production
COPY --from=dependencies /build/node_modules node_modules
COPY package.json package.json
COPY templates templates
COPY crds crds
COPY bin bin
COPY --from=build /build/dist dist
COPY --from=build /build/dist-web dist-web
# A number, so that a cluster can see that it is not root.
USER 65532:65532
ARG VERSION=0.2.0
ARG REVISION=unknown
LABEL org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.base.name="debian:bookworm-slim"

FROM runtime AS control-plane
LABEL org.opencontainers.image.title="service-control-plane" \
      org.opencontainers.image.description="Takes intents, delivers them to clusters, and says what became of them"
USER 0:0
RUN ln -s /app/bin/servicectl.js /usr/local/bin/servicectl
USER 65532:65532
ENV SERVICE_LISTEN=0.0.0.0:8080 \
    SERVICE_DATA_DIR=/var/lib/service
EXPOSE 8080
ENTRYPOINT ["/usr/bin/tini", "--", "/usr/local/bin/node", "/app/dist/control-plane/main.js"]

FROM runtime AS operator
LABEL org.opencontainers.image.title="service-operator" \
      org.opencontainers.image.description="Brings about in its cluster what the control plane delivers, and reports what became of it"
USER 0:0
RUN ln -s /app/bin/service-operator.js /usr/local/bin/service-operator
USER 65532:65532
ENV SERVICE_OPERATOR_LISTEN=0.0.0.0:8443 \
    SERVICE_OPERATOR_STATE_DIR=/var/lib/service-operator
EXPOSE 8443
ENTRYPOINT ["/usr/bin/tini", "--", "/usr/local/bin/node", "/app/dist/operator/main.js"]
