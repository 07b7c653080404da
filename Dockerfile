# The drover command and worker. Debian, not Alpine: Temporal's native core needs glibc.
# What is built is the same on each platform, so it is built on the one that builds.
FROM --platform=$BUILDPLATFORM node:24.21.0-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY . .
RUN node deploy/build.ts dist
RUN npm prune --omit=dev --ignore-scripts --no-audit --no-fund
# Temporal's core comes for every platform, 30 MB each; an image runs on one. The compiler has done its work.
ARG TARGETARCH
RUN core="$(echo "$TARGETARCH" | sed s/amd64/x86_64/ | sed s/arm64/aarch64/)-unknown-linux-gnu" && \
    test -e "node_modules/@temporalio/core-bridge/releases/$core" && \
    find node_modules/@temporalio/core-bridge/releases -mindepth 1 -maxdepth 1 -not -name "$core" -exec rm -r {} + && \
    rm -r node_modules/@swc/core-*

FROM node:24.21.0-bookworm-slim
WORKDIR /app
# Few arenas: glibc gives many threads one each, and what a burst of work has freed stays in all of them. Fixed thresholds:
# glibc raises its own after large blocks are freed, and then gives less back to the system. Plans have some 20 KB.
ENV NODE_ENV=production \
    MALLOC_ARENA_MAX=2 \
    MALLOC_MMAP_THRESHOLD_=16384 \
    MALLOC_TRIM_THRESHOLD_=131072 \
    DROVER_HEALTH_ADDRESS=:: \
    DROVER_HEALTH_PORT=8080 \
    DROVER_TEMPORAL_METRICS_PORT=9090 \
    DROVER_WORKFLOW_BUNDLE=/app/workflows.js
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist ./
# All files are root's: the worker writes none. By number, so that Kubernetes can tell that it is not root.
USER 1000:1000
EXPOSE 8080 8443 9090
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 CMD ["node", "/app/healthcheck.mjs"]
# The worker takes SIGTERM itself and leaves no child behind, so it may be process 1; for other commands, run with an init.
# On a machine with much memory V8 lets a busy heap hold up to 192 MB of young objects, and a worker has two heaps.
ENTRYPOINT ["node", "--max-semi-space-size=4", "/app/drover.mjs"]
CMD ["worker"]
