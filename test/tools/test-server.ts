import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { lastLines } from '../../dev/process/log-file.ts';
import { givenPath, isProgram } from '../../dev/tools/find-tool.ts';
import { readableError, madeOnce, type MakeOptions } from '../../dev/tools/made-once.ts';

interface TestServerOptions extends MakeOptions {
  /** Folder of files kept between runs. */
  cache: string;
  env?: NodeJS.ProcessEnv;
}

const NAME = 'temporal-test-server';
const VARIABLE = 'DROVER_TEMPORAL_TEST_SERVER';
const SOURCES = fileURLToPath(new URL(NAME, import.meta.url));
const CLASS = 'TimeSkippingServer';
const SOURCE = join(SOURCES, `${CLASS}.java`);
/** The plugin's version is in the pom. */
const GOAL = 'org.apache.maven.plugins:maven-dependency-plugin:copy-dependencies';
const TIMEOUT_MS = 10 * 60_000;
const WAY_OUT = `install a JDK of version 17 or newer and Maven, or give a server with ${VARIABLE}`;

/**
 * Using only one JIT compiler and an archive of its classes that Java maps, it starts in a third of the time: the
 * program that starts it waits for 5 s only.
 */
const QUICK = '-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xlog:disable';
const ARCHIVE = 'classes.jsa';

/**
 * `exec` replaces the shell, so that ending the script's process ends the server. The class path is fixed, because a
 * class archive is valid only for the same class path.
 */
const scriptWith = (classPath: string): string => `#!/bin/sh
cd "\${0%/*}" && exec java ${QUICK} -XX:SharedArchiveFile=${ARCHIVE} -cp ${classPath} ${CLASS} "$@"
`;

/** Messages for failures, by patterns in the output of Maven or javac. The first match counts. */
const REASONS: readonly [RegExp, string][] = [
  [
    /no space left on device|disk quota exceeded/i,
    "the disk is full: make room (some 100 MB, in DROVER_CACHE and Maven's repository)",
  ],
  [
    /release version 17 not supported|invalid target release|Unsupported class file/i,
    `this Java is too old: ${WAY_OUT}`,
  ],
  [
    /Could not transfer|Unknown host|offline mode|Network is unreachable|timed out|Connection refused/i,
    `what it is made of could not be fetched, because there is no network: connect it, set Maven up for a mirror, or give a server with ${VARIABLE}`,
  ],
  [/permission denied|read-only file system/i, "a folder can't be written: set DROVER_CACHE to one that can"],
];

/**
 * Returns the path of Temporal's time-skipping test server: the one in the environment, else the one in the cache,
 * which is first made from Maven's repositories if it is missing. Its argument is a port. Throws an error whose message
 * says what to do.
 */
export async function resolveTestServer(options: TestServerOptions): Promise<string> {
  const { cache, env = process.env } = options;
  const given = givenPath({ name: NAME, variable: VARIABLE }, env);
  if (given !== undefined) return given;
  const folder = join(cache, 'tools');
  const version = pinnedVersion();
  const target = join(folder, `${NAME}-${version}-${recipe()}`, NAME);
  const missing = (isProgram(target) ? ['java'] : ['java', 'javac', 'jar', 'mvn']).filter(
    (name) => !isOnPath(name, env),
  );
  if (missing.length > 0)
    throw new Error(
      `${NAME} ${version} needs Java and Maven, and there is no ${missing.join(', ')} on PATH: ${WAY_OUT}`,
    );
  if (isProgram(target)) return target;
  try {
    mkdirSync(folder, { recursive: true });
    return await madeOnce(target, options, (program) => make(program, version, { ...options, env }));
  } catch (error) {
    throw readableError(error, cache);
  }
}

async function make(
  program: string,
  version: string,
  { onProgress, signal, env }: TestServerOptions & { env: NodeJS.ProcessEnv },
): Promise<void> {
  const started = Date.now();
  const folder = dirname(program);
  const run = async (tool: string, ...args: string[]): Promise<void> => {
    try {
      await promisify(execFile)(tool, args, {
        cwd: folder,
        env,
        timeout: TIMEOUT_MS,
        ...(signal === undefined ? {} : { signal }),
      });
    } catch (error) {
      signal?.throwIfAborted();
      const { stdout = '', stderr = '', message } = error as Error & { stdout?: string; stderr?: string };
      // Maven's output is long; its first paragraph says what is wrong.
      const output = `${stdout}${stderr}`.trim().split(/\n(?:\[ERROR\] )?\n/)[0] || message;
      const reason = REASONS.find(([pattern]) => pattern.test(output))?.[1] ?? `${tool} failed`;
      throw new Error(`${NAME} ${version} could not be made: ${reason}; ${tool} said:\n${lastLines(output)}`, {
        cause: error,
      });
    }
  };
  onProgress(`fetching ${NAME} ${version} with Maven, once`);
  const quietly = ['--batch-mode', '--quiet', '-Dstyle.color=never'];
  await run(
    'mvn',
    ...quietly,
    '-f',
    join(SOURCES, 'pom.xml'),
    GOAL,
    '-DincludeScope=runtime',
    `-DoutputDirectory=${join(folder, 'lib')}`,
  );
  await run('javac', '--release', '17', '-cp', 'lib/*', '-d', 'classes', SOURCE);
  await run('jar', '--create', '--file', 'server.jar', '-C', 'classes', '.');
  rmSync(join(folder, 'classes'), { recursive: true, force: true });
  const classPath = [
    'server.jar',
    ...readdirSync(join(folder, 'lib'))
      .toSorted()
      .map((name) => `lib/${name}`),
  ].join(':');
  await run('java', ...QUICK.split(' '), `-XX:ArchiveClassesAtExit=${ARCHIVE}`, '-cp', classPath, CLASS);
  writeFileSync(program, scriptWith(classPath));
  chmodSync(program, 0o755);
  onProgress(`fetched ${NAME} ${version} in ${Math.round((Date.now() - started) / 1000)} s`);
}

/** Hash of how the program is made, so that drovers that make it differently don't share a cache entry. */
const recipe = (): string =>
  createHash('sha256')
    .update(`${readFileSync(SOURCE, 'utf8')}${scriptWith('')}`)
    .digest('hex')
    .slice(0, 8);

/** Returns the version that Maven fetches: only the pom decides it. */
function pinnedVersion(): string {
  const version =
    /<artifactId>temporal-test-server<\/artifactId>\s*<version>([\w.-]+)<\/version>\s*<\/dependency>/.exec(
      readFileSync(join(SOURCES, 'pom.xml'), 'utf8'),
    )?.[1];
  if (version === undefined) throw new Error(`${SOURCES}/pom.xml does not depend on ${NAME}`);
  return version;
}

const isOnPath = (name: string, env: NodeJS.ProcessEnv): boolean =>
  (env['PATH'] ?? '').split(delimiter).some((folder) => folder !== '' && isProgram(join(folder, name)));
