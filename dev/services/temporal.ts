import { answers } from '../process/answers.ts';
import type { ServiceSpec } from '../process/service.ts';
import { firstStart } from './first-start.ts';

const DATABASE = 'temporal.db';

export interface TemporalOptions {
  binary: string;
  data: string;
  port: number;
  uiPort: number;
  ephemeral: boolean;
  /** Dynamic configuration, each as `KEY=VALUE`. */
  settings?: readonly string[];
}

export function temporal({
  binary,
  data,
  port,
  uiPort,
  ephemeral,
  settings = [],
}: TemporalOptions): ServiceSpec<'temporal'> {
  const args = [
    'server',
    'start-dev',
    '--ip=127.0.0.1',
    `--port=${port}`,
    `--ui-port=${uiPort}`,
    '--log-level=warn',
    '--disable-config-file',
    '--disable-config-env',
    ...['frontend.enableServerVersionCheck=false', ...settings].map((one) => `--dynamic-config-value=${one}`),
    ...(ephemeral ? [] : [`--db-filename=${DATABASE}`]),
  ];
  return {
    name: 'temporal',
    launch: { command: binary, args, cwd: data, env: process.env },
    // The Web UI forwards this to the frontend, so an answer means that both are ready.
    isReady: () => answers({ url: `http://127.0.0.1:${uiPort}/api/v1/namespaces/default` }),
    readyWithin: 60,
    stopWithin: 10,
    stopSignal: ephemeral ? 'SIGKILL' : 'SIGTERM',
    ...(ephemeral ? {} : firstStart(data, DATABASE)),
  };
}
