import type { Act } from '../../../decisions/history/act.ts';

/** A restart that is done. */
export const anAct = (more: Partial<Act> = {}): Act => ({
  time: '2026-01-01T00:00:00.000Z',
  endedAt: '2026-01-01T00:00:01.000Z',
  action: 'restart',
  vms: ['web-1'],
  from: 'a',
  to: 'b',
  requestedBy: 'ada@desk',
  end: 'Updated',
  message: null,
  reason: 'update web-1 to b (restart)',
  workflow: 'w',
  ...more,
});

export const anOpenAct = (more: Partial<Act> = {}): Act => anAct({ endedAt: null, end: 'InProgress', ...more });
