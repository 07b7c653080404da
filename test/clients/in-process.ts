import { AsyncLocalStorage } from 'node:async_hooks';
import { Readable } from 'node:stream';
import { runLine } from '../../clients/cli/run-program.ts';
import { droverProgram } from '../../clients/program.ts';
import { nowhere, type Outcome } from './drover.ts';

/** What a command finds as its process: an environment, and streams that only it reads and writes. */
interface CommandProcess {
  env: NodeJS.ProcessEnv;
  stdin: Readable;
  stdout: string;
  stderr: string;
}

const current = new AsyncLocalStorage<CommandProcess>();

/**
 * Runs a command line in the process of the test: a process of its own takes ten times as much CPU. Tests of signals,
 * and of how a process ends, use `drover` instead.
 */
export function droverHere(args: string[], env: NodeJS.ProcessEnv = nowhere, input = ''): Promise<Outcome> {
  const own: CommandProcess = {
    env,
    stdin: Readable.from(input === '' ? [] : [Buffer.from(input)]),
    stdout: '',
    stderr: '',
  };
  return current.run(own, async () => {
    const listeners = new Set(process.listeners('SIGINT'));
    const code = await runLine(droverProgram(), args);
    // Many commands would add up to a warning.
    for (const listener of process.listeners('SIGINT'))
      if (!listeners.has(listener)) process.removeListener('SIGINT', listener);
    return { code, signal: null, stdout: own.stdout, stderr: own.stderr };
  });
}

for (const name of ['stdout', 'stderr'] as const) {
  const stream = process[name];
  const write = stream.write.bind(stream) as (...args: unknown[]) => boolean;
  stream.write = (text: string | Uint8Array, ...rest: unknown[]) => {
    const own = current.getStore();
    if (own === undefined) return write(text, ...rest);
    own[name] += String(text);
    return true;
  };
}
const { env, stdin } = process;
const envNow = (): NodeJS.ProcessEnv => current.getStore()?.env ?? env;
process.env = new Proxy(env, {
  get: (_, name) => Reflect.get(envNow(), name) as unknown,
  set: (_, name, value) => Reflect.set(envNow(), name, value),
  has: (_, name) => Reflect.has(envNow(), name),
  ownKeys: () => Reflect.ownKeys(envNow()),
  getOwnPropertyDescriptor: (_, name) => Reflect.getOwnPropertyDescriptor(envNow(), name),
});
Object.defineProperty(process, 'stdin', { get: () => current.getStore()?.stdin ?? stdin });
