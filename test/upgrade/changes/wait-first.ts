import { sleep } from '@temporalio/workflow';

/** Schedules an activity after a timer. */
export async function waitFirst<T>(schedule: () => Promise<T>): Promise<T> {
  await sleep(1);
  return schedule();
}
