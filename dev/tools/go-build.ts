import { execFile, spawn } from 'node:child_process';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { lastLines } from '../process/log-file.ts';
import { identify, signalGroup } from '../process/process-identity.ts';
import type { ProcessReaper } from '../process/reaper.ts';
import type { Buildable } from './catalog.ts';

export interface BuildContext {
  onProgress: (line: string) => void;
  signal?: AbortSignal | undefined;
  reaper?: ProcessReaper | undefined;
  /** Environment with the PATH for `go` and Go's settings. */
  env: NodeJS.ProcessEnv;
}

const PROGRESS_EVERY_MS = 10_000;

/** Messages for build failures, by patterns in the output of `go`. The first match counts. */
const REASONS: readonly [RegExp, (tool: Buildable) => string][] = [
  [
    /no space left on device|disk quota exceeded/i,
    () => 'the disk is full: make room (some 6 GB for the build, in DROVER_CACHE, GOCACHE, GOMODCACHE and TMPDIR)',
  ],
  [
    /requires go >= ?([\d.]+)|toolchain not available|download go[\d.]+/i,
    () => 'this Go is too old: install Go 1.26 or newer (https://go.dev/dl)',
  ],
  [
    /dial tcp|no such host|i\/o timeout|proxyconnect|connection refused|TLS handshake|network is unreachable|module lookup disabled|lookup .* (?:on|:)/i,
    (tool) =>
      `Go's modules could not be fetched, because there is no network: connect it or set GOPROXY, or give a binary with ${tool.variable}`,
  ],
  [
    /permission denied|read-only file system/i,
    () => "a folder can't be written: set DROVER_CACHE, GOCACHE and GOMODCACHE to folders that can",
  ],
  [/signal: killed|cannot allocate memory/i, () => 'there was not enough memory: free some (2 GB for the build)'],
];

/** Builds the tool with the Go toolchain into the file `target`. Throws an error whose message says what to do. */
export async function goBuild(tool: Buildable, target: string, context: BuildContext): Promise<void> {
  const { onProgress, signal, reaper } = context;
  // No CGO, for a static binary. The caller's workspace, flags and target platform would build something else.
  const env = { ...context.env, CGO_ENABLED: '0', GOWORK: 'off', GOFLAGS: '' };
  delete env['GOOS' as keyof typeof env];
  delete env['GOARCH' as keyof typeof env];
  const toolchain = await goVersion(tool, env);
  signal?.throwIfAborted();

  const title = `${tool.name} ${tool.version}`;
  onProgress(`building ${title} with ${toolchain}, once: this takes some minutes`);
  const { module, package: packagePath, beside = [], ldflags, tags = '' } = tool.build;
  const flags = ['-v', '-trimpath', '-buildvcs=false', '-tags', tags, '-ldflags', ldflags];
  // Several programs are written to a folder, by the names of their packages.
  const output = beside.length === 0 ? target : `${dirname(target)}/`;
  const args = ['build', ...flags, '-o', output, packagePath, ...beside];
  const child = spawn('go', args, { cwd: module, env, detached: true, stdio: ['ignore', 'ignore', 'pipe'] });
  const identity = child.pid === undefined ? undefined : identify(child.pid);
  const ended = new Promise<string | undefined>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('close', (code, killed) =>
      resolve(code === 0 ? undefined : `go build ended with ${killed ?? `exit code ${code}`}`),
    );
  });
  if (identity !== undefined) reaper?.add(identity);
  const interrupt = (): void => void (identity !== undefined && signalGroup(identity, 'SIGKILL'));
  signal?.addEventListener('abort', interrupt, { once: true });

  const started = Date.now();
  const said: string[] = [];
  let packages = 0;
  let modules = 0;
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    for (const line of text.split('\n')) {
      if (line.startsWith('go: downloading ')) modules++;
      else if (/^[\w.~-]+(\/[\w.~-]+)*$/.test(line)) packages++;
      else if (line !== '') said.push(line);
    }
  });
  const ticker = setInterval(() => {
    const what = packages > 0 ? `${packages} packages compiled` : `${modules} modules downloaded`;
    onProgress(`building ${title}: ${what}, ${Math.round((Date.now() - started) / 1000)} s`);
  }, PROGRESS_EVERY_MS);
  try {
    const failure = await ended;
    signal?.throwIfAborted();
    if (failure !== undefined) throw new Error(explain(tool, failure, said.join('\n')));
    onProgress(`built ${title} in ${Math.round((Date.now() - started) / 1000)} s`);
  } finally {
    clearInterval(ticker);
    signal?.removeEventListener('abort', interrupt);
    if (identity !== undefined) reaper?.drop(identity);
  }
}

/** Returns the Go version, such as `go1.26.8`. Throws if Go is not installed. */
async function goVersion(tool: Buildable, env: NodeJS.ProcessEnv): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)('go', ['env', 'GOVERSION'], { env, cwd: tool.build.module });
    return stdout.trim();
  } catch (error) {
    const { code, stderr = '', message } = error as NodeJS.ErrnoException & { stderr?: string };
    if (code !== 'ENOENT') throw new Error(explain(tool, message, stderr), { cause: error });
    throw new Error(
      `${tool.name} ${tool.version} must be built, and there is no Go toolchain on PATH: install Go 1.26 or newer (https://go.dev/dl), ` +
        `or give a binary with ${tool.variable}`,
      { cause: error },
    );
  }
}

function explain(tool: Buildable, failure: string, output: string): string {
  const reason = REASONS.find(([pattern]) => pattern.test(output))?.[1](tool) ?? failure;
  return `${tool.name} ${tool.version} could not be built: ${reason}; Go said:\n${lastLines(output)}`;
}
