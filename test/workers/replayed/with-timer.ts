import { condition, setHandler } from '@temporalio/workflow';
import { finish } from './finish.ts';

/** A run of it has a timer in its history. */
export async function replayed(): Promise<void> {
  let isOver = false;
  setHandler(finish, () => {
    isOver = true;
  });
  await condition(() => isOver, '1h');
}
