import type { ChildProcess } from 'node:child_process';
import { drover, nowhere, start, type Outcome } from '../../clients/drover.ts';
import type { TestFleet } from '../fleet.ts';

const environment = ({ stack }: TestFleet): NodeJS.ProcessEnv => ({
  ...nowhere,
  ...stack.env,
  DROVER_REQUESTED_BY: 'ada',
});

/** Runs the command in a process of its own, as a person does. */
export const run = (fleet: TestFleet, namespace: string, ...args: string[]): Promise<Outcome> =>
  drover([...args, '-n', namespace], environment(fleet));

/** Starts the command, for a test that kills it. */
export const begin = (fleet: TestFleet, namespace: string, ...args: string[]): ChildProcess => {
  const child = start([...args, '-n', namespace], environment(fleet));
  child.stdin!.end();
  return child;
};
