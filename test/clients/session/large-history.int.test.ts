import { expect, test } from 'vitest';
import { aFleet } from '../../integration/fleet.ts';

const fleet = aFleet({ simulator: false, workers: 0 });

/** Temporal takes payloads of less than 2 MiB. */
const LARGE = 'x'.repeat(1_900_000);

test('a history of more than 4 MiB can be read', async () => {
  const { workflow } = fleet().temporal.client;
  const handle = await workflow.start('none', { workflowId: 'large', taskQueue: 'nobody' });
  for (let count = 0; count < 3; count++) await handle.signal('note', LARGE);
  const { events = [] } = await handle.fetchHistory();
  expect(events?.filter((event) => event.workflowExecutionSignaledEventAttributes != null)).toHaveLength(3);
});
