import { spawn } from 'node:child_process';
import { closeSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { readCrds } from '../../dev/crds/crds.ts';
import { pathsOf, stateUnwritable } from '../../dev/paths.ts';
import { lastLines, openLog, readLog } from '../../dev/process/log-file.ts';
import type { Globals } from '../cli/globals.ts';
import { printNote, print } from '../cli/print.ts';
import { failedStart, type StarterMessage, type DevOptions, stateOf } from './starter.ts';

/**
 * Starts `drover dev` again in its own session, and resolves when that is ready. Throws `Failure` with the reason
 * if it fails.
 */
export async function detach(options: DevOptions, globals: Globals): Promise<void> {
  const state = stateOf(globals);
  const where = globals.state === undefined ? '' : ` --state ${state}`;
  const { logs } = pathsOf(state);
  if (options.kubevirtCrds !== undefined) readCrds(options.kubevirtCrds);
  const logFile = join(logs, 'supervisor.log');
  const log = openIn(state, logFile);
  const command = [...process.execArgv, process.argv[1]!, ...argumentsOf(options, globals.cluster, state)];
  const child = spawn(process.execPath, command, { detached: true, stdio: ['ignore', log.fd, log.fd, 'ipc'] });
  closeSync(log.fd);

  const interrupt = (signal: NodeJS.Signals): void => void child.kill(signal);
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const signal of signals) process.on(signal, interrupt);
  try {
    const ready = await new Promise<{ exports: string; temporalUi: string }>((found, fail) => {
      let failure: string | undefined;
      child.on('message', (message: StarterMessage) => {
        if ('progress' in message) printNote(message.progress);
        else if ('failure' in message) failure = message.failure;
        else found(message.ready);
      });
      child.once('error', (error) => fail(new Error(`the stack could not be started: ${error.message}`)));
      child.once('close', (code, signal) => {
        const said = lastLines(readLog(logFile, log.start));
        fail(
          new Error(
            failure ??
              `the stack ended before it was ready (${signal ?? `exit code ${code}`}); the last lines of ${logFile}:\n${said}`,
          ),
        );
      });
    });
    printNote(`\nready: Temporal's Web UI is at ${ready.temporalUi}; \`drover dev stop${where}\` stops it all.\n`);
    print(ready.exports.trimEnd());
  } catch (error) {
    throw failedStart(error);
  } finally {
    for (const signal of signals) process.off(signal, interrupt);
    if (child.connected) child.disconnect();
    child.unref();
  }
}

function openIn(state: string, logFile: string): ReturnType<typeof openLog> {
  try {
    mkdirSync(dirname(logFile), { recursive: true, mode: 0o700 });
    return openLog(logFile);
  } catch (error) {
    throw stateUnwritable(state, error);
  }
}

function argumentsOf(options: DevOptions, cluster: string, state: string): string[] {
  const valued = {
    '--kubevirt-crds': options.kubevirtCrds,
    '--temporal-port': options.temporalPort,
    '--ui-port': options.uiPort,
    '--apiserver-port': options.apiserverPort,
    '--simulator-port': options.simulatorPort,
  };
  return [
    'dev',
    '--background',
    `--state=${state}`,
    `--cluster=${cluster}`,
    ...(options.ephemeral === true ? ['--ephemeral'] : []),
    ...(options.simulator ? [] : ['--no-simulator']),
    ...(options.worker ? [] : ['--no-worker']),
    ...Object.entries(valued).flatMap(([flag, value]) => (value === undefined ? [] : [`${flag}=${value}`])),
  ];
}
