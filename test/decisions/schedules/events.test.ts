import { expect, test } from 'vitest';
import { scheduleEvents } from '../../../decisions/schedules/events.ts';
import { aSchedule, Life } from './schedules.ts';

const eventsOf = (life: Life, now: string, refusal: string | null = null): string[] => {
  const before = life.schedule.status;
  life.look(now, refusal);
  return scheduleEvents(before, life.schedule.status!).map(({ type, reason, note }) => `${type} ${reason} ${note}`);
};

test('a time for which no operation was made is told once', () => {
  const life = new Life(aSchedule('2026-06-01T12:00:00Z', { startingDeadlineSeconds: 600 }));
  expect(eventsOf(life, '2026-06-01T19:00:00Z')).toEqual([]);
  expect(eventsOf(life, '2026-06-01T20:30:00Z')).toEqual([
    'Warning Missed 2026-06-01T20:00:00Z: no worker made its operation within startingDeadlineSeconds (600)',
  ]);
  expect(eventsOf(life, '2026-06-01T20:40:00Z')).toEqual([]);
});

test('an operation that the API server refuses is told once', () => {
  const life = new Life(aSchedule('2026-06-01T12:00:00Z'));
  life.look('2026-06-01T12:00:01Z');
  expect(eventsOf(life, '2026-06-01T20:00:00Z', 'no operations here')).toEqual([
    'Warning OperationRefused no operations here',
  ]);
  expect(eventsOf(life, '2026-06-01T20:00:30Z', 'no operations here')).toEqual([]);
});

test('a cron that is not understood is told', () => {
  const life = new Life(aSchedule('2026-06-01T12:00:00Z', { schedule: '61 * * * *' }));
  expect(eventsOf(life, '2026-06-01T12:00:01Z')).toEqual([expect.stringMatching(/^Warning InvalidSchedule /)]);
});
