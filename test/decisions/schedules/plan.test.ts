import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { aSchedule, at, inWords, Life } from './schedules.ts';

const MADE = '2026-06-01T12:00:00Z';

describe('a schedule', () => {
  it('makes its operation at its time, and reports the last and the next', () => {
    const life = new Life(aSchedule(MADE, { requestedBy: 'ada', timeZone: 'Europe/Zurich' }));
    expect(life.look('2026-06-01T17:59:59.9Z')).toMatchObject({ run: null, lookAt: at('2026-06-01T18:00:00Z') });
    expect(life.schedule.status).toMatchObject({
      effectiveSince: MADE,
      nextScheduleTime: '2026-06-01T18:00:00Z',
      conditions: [{ type: 'Ready', status: 'True', reason: 'Scheduled' }],
    });
    life.look('2026-06-01T18:00:00.1Z');
    expect(life.operations).toMatchObject([
      {
        metadata: {
          name: `stop-${at('2026-06-01T18:00:00Z') / 60_000}`,
          labels: { 'drover.dev/schedule': 'stop' },
          ownerReferences: [{ kind: 'VirtualMachineOperationSchedule', uid: 'uid-of-stop', controller: true }],
        },
        spec: { action: 'Stop', vms: { selector: {} }, requestedBy: 'ada' },
      },
    ]);
    expect(life.schedule.status).toMatchObject({
      lastScheduleTime: '2026-06-01T18:00:00Z',
      nextScheduleTime: '2026-06-02T18:00:00Z',
      active: [life.operations[0]!.metadata.name],
      conditions: [{ type: 'Ready' }, { type: 'Succeeded', status: 'Unknown', reason: 'Running' }],
    });
    life.end('2026-06-01T18:01:00Z');
    life.look('2026-06-01T18:01:00.2Z');
    expect(life.schedule.status).toMatchObject({
      lastSuccessfulTime: '2026-06-01T18:01:00Z',
      conditions: [{ type: 'Ready' }, { type: 'Succeeded', status: 'True', reason: 'Complete' }],
    });
    expect(life.schedule.status).not.toHaveProperty('active');
  });

  it('reports how its last operation has failed', () => {
    const life = new Life(aSchedule(MADE));
    life.look('2026-06-01T20:00:00Z');
    life.end('2026-06-01T20:01:00Z', 'VmsFailed');
    life.look('2026-06-01T20:01:00Z');
    const { conditions } = life.schedule.status!;
    expect(conditions).toContainEqual(
      expect.objectContaining({
        type: 'Succeeded',
        status: 'False',
        message: expect.stringContaining('VmsFailed: said'),
      }),
    );
    // That stays told when the operation is gone.
    life.operations = [];
    life.look('2026-06-01T20:02:00Z');
    expect(life.schedule.status!.conditions).toEqual(conditions);
  });

  it.each([
    ['61 * * * *', undefined, 'spec.schedule "61 * * * *": minute 61 is not understood'],
    ['0 0 30 2 *', undefined, 'spec.schedule "0 0 30 2 *": no year has such a day, so it never runs'],
    ['0 0 * * *', 'Europe/Zurick', 'Europe/Zurick is not a time zone; did you mean Europe/Zurich?'],
  ])('that is not understood says why: %s %s', (schedule, timeZone, why) => {
    const life = new Life(aSchedule(MADE, { schedule, ...(timeZone === undefined ? {} : { timeZone }) }));
    expect(life.look('2026-06-02T20:00:00Z')).toMatchObject({ run: null, lookAt: null });
    const said = { reason: 'InvalidSchedule', message: expect.stringContaining(why) as string };
    expect(life.schedule.status!.conditions).toMatchObject([
      { type: 'Ready', status: 'False', ...said },
      { type: 'Stalled', status: 'True', ...said },
    ]);
  });
});

describe('a time that has passed', () => {
  it('is made up for within the deadline if no worker ran, but only the last one', () => {
    const life = new Life(aSchedule(MADE, { schedule: '*/10 * * * *' }));
    life.look('2026-06-01T12:10:00Z');
    life.end('2026-06-01T12:10:30Z');
    // Days later: CronJobs give up after a hundred missed times.
    life.look('2026-06-04T18:15:00Z');
    expect(inWords(life.made)).toEqual(['2026-06-01T12:10:00.000Z', '2026-06-04T18:10:00.000Z']);
    expect(life.schedule.status!.lastMissed).toMatchObject({ time: '2026-06-04T18:00:00Z' });
  });

  it('is missed after the deadline, which is reported once, and the next comes at its time', () => {
    const life = new Life(aSchedule(MADE));
    life.look('2026-06-02T07:00:00Z');
    expect(life.made).toEqual([]);
    const { status } = life.schedule;
    expect(status).toMatchObject({
      lastMissed: {
        time: '2026-06-01T20:00:00Z',
        message: 'no worker made its operation within startingDeadlineSeconds (3600)',
      },
      nextScheduleTime: '2026-06-02T20:00:00Z',
    });
    expect(status!.conditions).toContainEqual(
      expect.objectContaining({ type: 'Succeeded', status: 'False', reason: 'Missed' }),
    );
    life.look('2026-06-02T08:00:00Z');
    expect(life.schedule.status).toEqual(status);
    life.look('2026-06-02T20:00:00Z');
    expect(inWords(life.made)).toEqual(['2026-06-02T20:00:00.000Z']);
  });

  it('is made up for within a longer deadline of the schedule', () => {
    const life = new Life(aSchedule(MADE, { startingDeadlineSeconds: 43_200 }));
    life.look('2026-06-02T07:00:00Z');
    expect(inWords(life.made)).toEqual(['2026-06-01T20:00:00.000Z']);
  });

  it('is not made up for if it was before the schedule was made, changed or resumed', () => {
    const life = new Life(aSchedule('2026-06-01T20:00:30Z'));
    life.look('2026-06-01T20:00:31Z');
    // To a time that has just passed, as users move a cron.
    life.change('2026-06-01T20:30:00Z', { schedule: '15 20 * * *' });
    life.look('2026-06-01T20:30:01Z');
    life.look('2026-06-01T20:31:00Z');
    life.change('2026-06-01T20:40:00Z', { suspend: true });
    life.look('2026-06-02T20:16:00Z');
    expect(life.schedule.status).not.toHaveProperty('nextScheduleTime');
    life.change('2026-06-02T20:20:00Z', { suspend: false });
    life.look('2026-06-02T20:20:01Z');
    life.look('2026-06-02T20:40:00Z');
    expect(life.made).toEqual([]);
    expect(life.schedule.status).not.toHaveProperty('lastMissed');
    life.look('2026-06-03T20:15:00Z');
    expect(inWords(life.made)).toEqual(['2026-06-03T20:15:00.000Z']);
  });

  it('counts after a change that no worker has seen yet', () => {
    const life = new Life(aSchedule(MADE));
    life.look(MADE);
    life.change('2026-06-01T19:59:59Z', { operationTemplate: { spec: { action: 'Start', vms: { selector: {} } } } });
    life.look('2026-06-01T20:00:20Z');
    expect(life.operations).toMatchObject([{ spec: { action: 'Start' } }]);
  });
});

const hourly = (spec: object = {}): Life => {
  const life = new Life(aSchedule(MADE, { schedule: '0 * * * *', startingDeadlineSeconds: 1_800, ...spec }));
  life.look('2026-06-01T13:00:00Z');
  return life;
};

/** The operation of 13:00 is in progress at 14:05, and that of 14:00 waits for its end. */
const waiting = (): Life => {
  const life = hourly();
  life.look('2026-06-01T14:05:00Z');
  return life;
};

describe('an edit of a schedule whose time is due', () => {
  it('that leaves its times as they are has the operation made all the same', () => {
    const life = waiting();
    life.change('2026-06-01T14:10:00Z', { startingDeadlineSeconds: 7_200 });
    life.look('2026-06-01T14:10:01Z');
    expect(life.schedule.status).toMatchObject({ dueScheduleTime: '2026-06-01T14:00:00Z' });
    life.end('2026-06-01T14:50:00Z');
    life.look('2026-06-01T14:50:01Z');
    expect(inWords(life.made)).toEqual(['2026-06-01T13:00:00.000Z', '2026-06-01T14:00:00.000Z']);
    expect(life.schedule.status).not.toHaveProperty('dueScheduleTime');
  });

  it.each([{ schedule: '30 5 * * *' }, { suspend: true }, { schedule: '61 * * * *' }])(
    'that takes the time away tells that it was missed: %j',
    (spec) => {
      const life = waiting();
      life.change('2026-06-01T14:10:00Z', spec);
      life.look('2026-06-01T14:10:01Z');
      const missed = { time: '2026-06-01T14:00:00Z', message: expect.stringContaining('was changed') as string };
      expect(life.schedule.status).toMatchObject({ lastMissed: missed });
    },
  );

  it('drops no time that was due: it is made, waits, or is told as missed', () => {
    const edit = fc.constantFrom<object>(
      { suspend: true },
      { suspend: false },
      { schedule: '*/7 * * * *' },
      { schedule: '0 * * * *' },
      { schedule: '30 4 * * *' },
      { startingDeadlineSeconds: 60 },
      { startingDeadlineSeconds: 7_200 },
      { concurrencyPolicy: 'Allow' },
    );
    const step = fc.record({ minutes: fc.integer({ min: 1, max: 90 }), edit: fc.option(edit), ends: fc.boolean() });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const life = new Life(aSchedule(MADE, { schedule: '0 * * * *', successfulOperationsHistoryLimit: 100 }));
        let time = at(MADE);
        life.look(time);
        for (const { minutes, edit: spec, ends } of steps) {
          const due = life.schedule.status!.dueScheduleTime;
          time += minutes * 60_000;
          const now = new Date(time).toISOString();
          if (ends) life.end(now);
          if (spec !== null) life.change(now, spec);
          life.look(time + 1_000);
          if (due === undefined) continue;
          const { dueScheduleTime = '', lastMissed } = life.schedule.status!;
          const known = [dueScheduleTime, lastMissed?.time ?? ''].filter((text) => text !== '').map(at);
          expect(Math.max(...life.made, ...known)).toBeGreaterThanOrEqual(at(due));
          expect(life.made.includes(at(due)) || known.some((one) => one >= at(due))).toBe(true);
        }
      }),
      { numRuns: 300 },
    );
  });
});

describe('an operation that still runs at the next time', () => {
  it('is waited for, within the deadline', () => {
    const life = hourly();
    expect(life.look('2026-06-01T14:00:00Z')).toMatchObject({ run: null, lookAt: at('2026-06-01T14:30:00Z') });
    life.end('2026-06-01T14:10:00Z');
    life.look('2026-06-01T14:10:00Z');
    expect(life.made).toHaveLength(2);
  });

  it('lets the next be missed after that', () => {
    const life = hourly();
    life.look('2026-06-01T14:30:00.001Z');
    expect(life.schedule.status!.lastMissed).toEqual({
      time: '2026-06-01T14:00:00Z',
      message: expect.stringMatching(
        /^stop-\d+ was still in progress, and did not end within startingDeadlineSeconds/,
      ) as string,
    });
    life.end('2026-06-01T14:40:00Z');
    life.look('2026-06-01T14:40:00Z');
    expect(life.made).toHaveLength(1);
  });

  it('is aborted by Replace, and the next begins at its end', () => {
    const life = hourly({ concurrencyPolicy: 'Replace' });
    expect(life.look('2026-06-01T14:00:00Z').abort).toHaveLength(1);
    expect(life.made).toHaveLength(1);
    expect(life.look('2026-06-01T14:00:01Z').abort).toEqual([]);
    life.end('2026-06-01T14:02:00Z', 'VmsFailed');
    life.look('2026-06-01T14:02:00Z');
    expect(life.made).toHaveLength(2);
  });

  it('does not matter to Allow', () => {
    const life = hourly({ concurrencyPolicy: 'Allow' });
    life.look('2026-06-01T14:00:00Z');
    expect(life.made).toHaveLength(2);
    expect(life.schedule.status!.active).toHaveLength(2);
  });
});

describe('a time has only one operation', () => {
  it('if the operation is there, and the status does not report it', () => {
    const life = new Life(aSchedule(MADE));
    life.look('2026-06-01T20:00:00Z');
    const { operations } = life;
    const again = new Life(aSchedule(MADE));
    again.operations = operations;
    again.look('2026-06-01T20:00:05Z');
    expect(again.made).toEqual([]);
    expect(again.schedule.status).toMatchObject({ lastScheduleTime: '2026-06-01T20:00:00Z' });
  });

  it('if etcd was restored, as far as the workflow knows', () => {
    const life = new Life(aSchedule(MADE));
    life.look('2026-06-01T19:00:00Z');
    const { schedule } = life;
    life.look('2026-06-01T20:00:00Z');
    life.schedule = schedule;
    life.operations = [];
    life.look('2026-06-01T20:10:00Z');
    expect(life.made).toHaveLength(1);
    life.look('2026-06-02T20:00:00Z');
    expect(life.made).toHaveLength(2);
  });

  it('if a clock was ahead for a while, and a clock that was a year ahead does not stop the schedule', () => {
    const life = new Life(aSchedule(MADE));
    life.look('2026-06-01T20:00:00Z');
    life.end('2026-06-01T20:00:01Z');
    life.look('2026-06-01T19:00:00Z');
    life.look('2026-06-01T20:00:00Z');
    expect(life.made).toHaveLength(1);
    life.look('2027-06-01T20:00:00Z');
    life.end('2027-06-01T20:00:01Z');
    life.look('2026-06-02T20:00:00Z');
    expect(inWords(life.made).at(-1)).toBe('2026-06-02T20:00:00.000Z');
  });

  it('whatever is forgotten, however often a worker looks, and whatever users change', () => {
    const minute = fc.integer({ min: 0, max: 3 * 24 * 60 });
    const event = fc.oneof(
      { weight: 6, arbitrary: fc.record({ is: fc.constant('look' as const), minute }) },
      fc.record({ is: fc.constant('end' as const), minute }),
      fc.record({ is: fc.constantFrom('suspend' as const, 'resume' as const), minute }),
      fc.record({ is: fc.constantFrom('forgetWorkflow' as const, 'forgetStatus' as const), minute }),
    );
    const policy = fc.constantFrom('Forbid' as const, 'Replace' as const, 'Allow' as const);
    const cron = fc.constantFrom('*/7 * * * *', '0 * * * *', '30 4 * * *');
    fc.assert(
      fc.property(fc.array(event, { maxLength: 60 }), cron, policy, (events, schedule, concurrencyPolicy) => {
        const life = new Life(aSchedule(MADE, { schedule, concurrencyPolicy, successfulOperationsHistoryLimit: 100 }));
        for (const { is, minute } of events.toSorted((a, b) => a.minute - b.minute)) {
          const now = new Date(at(MADE) + minute * 60_000).toISOString();
          const active = life.operations.filter(({ status }) => status === undefined).length;
          const before = life.made.length;
          if (is === 'look') life.look(now);
          else if (is === 'end') life.end(now);
          else if (is === 'suspend' || is === 'resume') life.change(now, { suspend: is === 'suspend' });
          else if (is === 'forgetWorkflow') life.ranUntil = null;
          else life.schedule = { ...life.schedule, status: { observedGeneration: 0 } };
          const made = life.made.slice(before);
          expect(made.length).toBeLessThanOrEqual(1);
          if (made.length > 0) {
            expect(life.schedule.spec.suspend ?? false).toBe(false);
            expect(made[0]).toBeLessThanOrEqual(at(now));
            expect(made[0]).toBeGreaterThanOrEqual(at(now) - 3_600_000);
            if (concurrencyPolicy !== 'Allow') expect(active).toBe(0);
          }
        }
        expect(new Set(life.made).size).toBe(life.made.length);
        expect(life.made).toEqual(life.made.toSorted((a, b) => a - b));
      }),
      { numRuns: 300 },
    );
  });
});

describe('the history of a schedule', () => {
  it('has the last three operations that ended well, and the last that did not', () => {
    const life = new Life(aSchedule(MADE, { schedule: '0 * * * *' }));
    for (let hour = 13; hour < 23; hour++) {
      life.look(`2026-06-01T${hour}:00:00Z`);
      life.end(`2026-06-01T${hour}:01:00Z`, hour % 2 === 0 ? 'Complete' : 'VmsFailed');
      life.look(`2026-06-01T${hour}:01:00Z`);
    }
    expect(life.made).toHaveLength(10);
    expect(life.operations.map(({ status }) => status!.conditions![0]!.reason)).toEqual([
      'Complete',
      'Complete',
      'VmsFailed',
      'Complete',
    ]);
  });
});

it('weekdays are those of the time zone', () => {
  const life = new Life(aSchedule('2026-06-05T00:00:00Z', { schedule: '0 6 * * 1', timeZone: 'Pacific/Auckland' }));
  life.pass(at('2026-06-05T00:00:00Z'), at('2026-06-10T00:00:00Z'));
  expect(inWords(life.made)).toEqual(['2026-06-07T18:00:00.000Z']);
});

const nights = (schedule: string, from: string, until: string): string[] => {
  const life = new Life(aSchedule(from, { schedule, timeZone: 'Europe/Zurich' }));
  life.pass(at(from), at(until));
  return inWords(life.made).map((time) => time.slice(5, 16));
};

describe('a change of clocks in Europe/Zurich', () => {
  it('has a missing time made up for when the gap ends', () => {
    expect(nights('30 2 * * *', '2026-03-28T12:00:00Z', '2026-03-30T12:00:00Z')).toEqual([
      '03-29T01:00',
      '03-30T00:30',
    ]);
  });

  it('has a doubled time come once', () => {
    expect(nights('30 2 * * *', '2026-10-24T12:00:00Z', '2026-10-26T12:00:00Z')).toEqual([
      '10-25T00:30',
      '10-26T01:30',
    ]);
  });

  it('is made up for in the same way by a worker that was away', () => {
    for (const [from, back, time] of [
      ['2026-03-28T12:00:00Z', '2026-03-29T01:20:00Z', '2026-03-29T01:00:00.000Z'],
      ['2026-10-24T12:00:00Z', '2026-10-25T01:10:00Z', '2026-10-25T00:30:00.000Z'],
    ]) {
      const life = new Life(aSchedule(from!, { schedule: '30 2 * * *', timeZone: 'Europe/Zurich' }));
      life.look(from!);
      life.look(back!);
      expect(inWords(life.made)).toEqual([time]);
    }
  });
});

const ZONES = ['Europe/Zurich', 'America/New_York', 'America/Santiago', 'Australia/Lord_Howe', 'Africa/Cairo', 'UTC'];

it('a schedule of one time a day makes one operation each day, in each zone, whether a worker sleeps or not', () => {
  const zone = fc.constantFrom(...ZONES);
  const start = fc.integer({ min: at('2024-01-01T00:00:00Z') / 60_000, max: at('2028-01-01T00:00:00Z') / 60_000 });
  fc.assert(
    fc.property(zone, start, fc.nat(23), fc.nat(59), fc.nat(50), (timeZone, begun, hour, minute, late) => {
      const from = begun * 60_000;
      const made = new Date(from).toISOString();
      const schedule = `${minute} ${hour} * * *`;
      const awake = new Life(aSchedule(made, { schedule, timeZone }));
      awake.pass(from, from + 240 * 3_600_000);
      // Looks late, by up to 50 minutes, at each time.
      const sleepy = new Life(aSchedule(made, { schedule, timeZone }));
      for (const time of awake.made) {
        sleepy.look(time + late * 60_000);
        sleepy.end(new Date(time + late * 60_000).toISOString());
      }
      expect(inWords(sleepy.made)).toEqual(inWords(awake.made));
      const day = new Intl.DateTimeFormat('en-CA', { timeZone, dateStyle: 'short' });
      const days = awake.made.map((time) => day.format(time));
      expect(new Set(days).size).toBe(days.length);
      expect(days.length).toBeGreaterThanOrEqual(9);
    }),
    { numRuns: 60 },
  );
});
