import { resolve } from 'node:path';
import type { Stack, StackOptions } from '../../dev/embedded-stack.ts';
import { exportLines } from '../../dev/services/environment.ts';
import { startStack } from '../../dev/stack.ts';
import { Failure } from '../cli/failure.ts';
import type { Globals } from '../cli/globals.ts';
import { printNote, print } from '../cli/print.ts';
import { untilAborted } from '../cli/watch-until.ts';
import { prepare } from './prepare.ts';
import { failedStart, notifyStarter, type DevOptions, stateOf } from './starter.ts';

/** Starts the stack and keeps it until a signal comes; a second signal ends it at once, without an orderly stop. */
export async function run(options: DevOptions, globals: Globals): Promise<void> {
  const interrupt = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      if (interrupt.signal.aborted) process.exit(130);
      interrupt.abort(new Failure(`${signal} came before the stack was ready; it was stopped`));
    });
  }
  const stack = await start(
    { ...stackOptions(options, globals), onProgress: say, signal: interrupt.signal },
    globals.cluster,
  );
  announce(stack, options);
  await untilAborted(interrupt.signal);
  printNote('stopping the stack');
  await stack.stop();
  process.exitCode = 0;
}

function say(line: string): void {
  printNote(line);
  notifyStarter({ progress: line });
}

async function start(options: StackOptions, cluster: string): Promise<Stack> {
  try {
    return await startStack({ ...options, prepare: (env) => prepare(env, cluster, options.onProgress) });
  } catch (error) {
    notifyStarter({ failure: (error as Error).message });
    throw failedStart(error);
  }
}

function announce(stack: Stack, options: DevOptions): void {
  if (options.background === true)
    notifyStarter({ ready: { exports: exportLines(stack.env), temporalUi: stack.temporalUi } });
  else {
    printNote(`\nready: Temporal's Web UI is at ${stack.temporalUi}; Ctrl-C stops it all. In another terminal:\n`);
    print(exportLines(stack.env).trimEnd());
  }
}

function stackOptions(options: DevOptions, globals: Globals): StackOptions {
  const { temporalPort, uiPort, apiserverPort, simulatorPort, kubevirtCrds } = options;
  const ports = { temporal: temporalPort, ui: uiPort, apiserver: apiserverPort, simulator: simulatorPort };
  return {
    state: stateOf(globals),
    ephemeral: options.ephemeral ?? false,
    simulator: options.simulator,
    worker: options.worker,
    workerEnv: { DROVER_CLUSTER: globals.cluster },
    ...(kubevirtCrds === undefined ? {} : { kubevirtCrds: resolve(kubevirtCrds) }),
    ports: Object.fromEntries(Object.entries(ports).filter(([, port]) => port !== undefined)),
  };
}
