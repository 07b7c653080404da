import { expect, test } from 'vitest';
import { serverTime } from '../../../clients/membership/change.ts';
import { ServerClock } from '../../../kubernetes/server-clock.ts';

test('a command notes the time of the API server, so that a clock that is hours ahead holds no pool for hours', () => {
  const clock = new ServerClock();
  const [here, there] = [Date.now(), Date.now() - 5 * 3_600_000];
  clock.note(new Date(there).toUTCString(), here, here + 5);
  expect(Math.abs(Date.parse(serverTime({ clock })) - there)).toBeLessThan(5_000);
});
