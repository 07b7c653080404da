import { EventEmitter } from 'node:events';
import { expect, test } from 'vitest';
import { endOnFault } from '../../workers/ending/end-on-fault.ts';
import { serveHealth } from '../../workers/health/health.ts';

test('an uncaught error is logged and counted; the worker drains once, and ends with 1', () => {
  const proc: EventEmitter & { exitCode?: number | string | null | undefined } = new EventEmitter();
  const told: string[] = [];
  const log = (message: string): void => void told.push(message);
  const logger = { log, trace: log, debug: log, info: log, warn: log, error: log };
  const faults: string[] = [];
  let drains = 0;
  endOnFault({ logger, onFault: (kind) => faults.push(kind), drain: () => drains++, process: proc });
  proc.emit('uncaughtException', new Error('one'));
  proc.emit('unhandledRejection', 'two');
  expect({ faults, drains, exitCode: proc.exitCode }).toEqual({
    faults: ['exception', 'rejection'],
    drains: 1,
    exitCode: 1,
  });
  expect(told).toHaveLength(2);
});

test('metrics that cannot be read are an answer of 500, and no rejection that would end the worker; and it says why it is not ready', async () => {
  const server = await serveHealth(
    { address: '127.0.0.1', port: 0 },
    {
      unready: () => 'Temporal is awaited',
      metrics: () => Promise.reject(new Error('no metrics')),
      config: () => ({}),
    },
  );
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const answer = await fetch(`http://127.0.0.1:${port}/metrics`);
  expect([answer.status, await answer.text()]).toEqual([500, 'no metrics\n']);
  const ready = await fetch(`http://127.0.0.1:${port}/readyz`);
  expect([ready.status, await ready.text()]).toEqual([503, 'not ready: Temporal is awaited\n']);
  server.close();
});
