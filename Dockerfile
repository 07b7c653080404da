# The drover command and worker. Debian, not Alpine: Temporal's native core needs glibc.
FROM node:24.21.0-bookworm-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund
# Temporal's core comes for every platform, 30 MB each; an image runs on one.
RUN find node_modules/@temporalio/core-bridge/releases -mindepth 1 -maxdepth 1 -not -name "$(uname -m)-unknown-linux-gnu" -exec rm -r {} +

FROM node:24.21.0-bookworm-slim
WORKDIR /app
ENV NODE_ENV=production \
    DROVER_HEALTH_ADDRESS=0.0.0.0 \
    DROVER_HEALTH_PORT=8080
COPY --from=dependencies /app/node_modules ./node_modules
# What that is, .dockerignore says.
COPY . .
# All files are root's: the worker writes none. By number, so that Kubernetes can tell that it is not root.
USER 1000:1000
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 CMD ["node", "/app/workers/healthcheck.ts"]
# The worker takes SIGTERM itself and leaves no child behind, so it may be process 1; for other commands, run with an init.
ENTRYPOINT ["node", "/app/clients/bin.js"]
CMD ["worker"]
