import { condition, setHandler } from '@temporalio/workflow';
import { finish } from './finish.ts';

/** The same workflow in another release, which can't replay the timer. */
export async function replayed(): Promise<void> {
  let isOver = false;
  setHandler(finish, () => {
    isOver = true;
  });
  await condition(() => isOver);
}
