import { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { UsageError } from '../../../clients/cli/failure.ts';
import { addRestartOptions, addScopeOptions } from '../../../clients/commands/machine-types.ts';
import {
  typesOperation,
  undoOperation,
  type RestartFlags,
  type ScopeFlags,
} from '../../../clients/machine-types/types-operation.ts';
import { Session } from '../../../clients/session/session.ts';
import type { Transition } from '../../../decisions/machine-types/transition.ts';
import { transitionOf } from '../../../decisions/operations/transition.ts';

const sessionIn = (namespace?: string): Session =>
  new Session({ cluster: 'default', ...(namespace === undefined ? {} : { namespace }) });

function flagsOf(words: string[]): ScopeFlags & RestartFlags {
  const command = addRestartOptions(addScopeOptions(new Command())).exitOverride();
  command
    .configureOutput({ writeErr: () => {} })
    .parse(['--which-matches-glob', '*rhel8.*', ...words], { from: 'user' });
  return command.opts();
}

const asked = async (words: string[], namespace?: string): Promise<Transition> =>
  transitionOf(await typesOperation(sessionIn(namespace), flagsOf(words)));

const EVERYTHING: Transition = {
  scope: { glob: '*rhel8.*', namespaces: null, labelSelector: {}, names: [], exclude: [], only: null, undoes: null },
  to: null,
  restartNow: false,
  maxRestarts: '5%',
  maxFailures: 0,
  deadlineMs: 600_000,
  windows: [],
  force: false,
  requestedBy: expect.any(String) as string,
  reason: null,
};
const scoped = (scope: Partial<Transition['scope']>): Transition => ({
  ...EVERYTHING,
  scope: { ...EVERYTHING.scope, ...scope },
});

describe('the scope of a command', () => {
  test('is all VMs of the cluster, without restarts, if nothing else is given', async () => {
    expect(await asked([])).toEqual(EVERYTHING);
    expect(await asked(['-A'], 'shop')).toEqual(EVERYTHING);
  });

  test('is what the flags say', async () => {
    expect(await asked([], 'shop')).toEqual(scoped({ namespaces: ['shop'] }));
    expect(await asked(['-l', 'app=web,!old'])).toEqual(
      scoped({
        labelSelector: { matchLabels: { app: 'web' }, matchExpressions: [{ key: 'old', operator: 'DoesNotExist' }] },
      }),
    );
    expect(await asked(['--name', 'a', '--name', 'shop/b', '--exclude', 'c-*', '--exclude', '*/d'])).toEqual(
      scoped({ labelSelector: null, names: ['a', 'shop/b'], exclude: ['c-*', '*/d'] }),
    );
    expect(await asked(['--only', 'stopped', '--to', 'pc-q35-rhel9.4.0'])).toEqual({
      ...scoped({ only: 'stopped' }),
      to: 'pc-q35-rhel9.4.0',
    });
    const windows = ['--window', '0 2 * * * 4h', '--window', '0 2 * * SUN  90m  Europe/Zurich'];
    const pace = [
      '--restart-now',
      '--max-restarts',
      '3',
      '--max-failures',
      '2',
      '--deadline',
      '90s',
      '--force',
      '--reason',
      'EL10',
    ];
    expect(await asked([...pace, ...windows])).toEqual({
      ...EVERYTHING,
      restartNow: true,
      maxRestarts: 3,
      maxFailures: 2,
      deadlineMs: 90_000,
      windows: [
        { cron: '0 2 * * *', duration: '4h' },
        { cron: '0 2 * * SUN', duration: '90m', timeZone: 'Europe/Zurich' },
      ],
      force: true,
      reason: 'EL10',
    });
  });

  test('is what another transition has changed, for an undo', async () => {
    const undo = await undoOperation(sessionIn('shop'), '1f0c92ab', flagsOf(['--restart-now']));
    expect(transitionOf(undo)).toEqual({
      ...scoped({ glob: '*', namespaces: ['shop'], undoes: '1f0c92ab' }),
      restartNow: true,
    });
  });
});

test.each<[string[], string]>([
  [['--which-matches-glob', '[a'], '--which-matches-glob: "[a" is not a valid glob: a "[" has no "]"'],
  [['--which-matches-glob', ''], '--which-matches-glob: "" is not a valid glob: it would match nothing'],
  [['--exclude', ''], '--exclude: "" is not a valid glob: it would match nothing'],
  [['--exclude', 'a\\'], '--exclude: "a\\\\" is not a valid glob: nothing follows its last "\\"'],
  [['--name', 'Web'], '--name: "Web" is not a VM: write NAME or NAMESPACE/NAME'],
  [['--name', 'a/b/c'], '--name: "a/b/c" is not a VM: write NAME or NAMESPACE/NAME'],
  [
    ['-l', 'a='.repeat(2)],
    expect.stringMatching(/^--label-selector: "a=a=" is not a valid label selector: /) as string,
  ],
  [['--to', 'pc q35'], '--to: "pc q35" is not a machine type such as pc-q35-rhel9.2.0'],
  [['--to', 'pc-q35-rhel8.6.0'], '--to pc-q35-rhel8.6.0: it matches *rhel8.* itself'],
  [['--window', '0 2 * * * 4h'], '--window is about restarts by drover: give --restart-now too'],
  [['--max-restarts', '10%'], '--max-restarts is about restarts by drover: give --restart-now too'],
  [['--max-failures', '0'], '--max-failures is about restarts by drover: give --restart-now too'],
  [['--deadline', '5m'], '--deadline is about restarts by drover: give --restart-now too'],
  [
    ['--restart-now', '--window', '0 2 * * *'],
    expect.stringMatching(/^--window: "0 2 \* \* \*" is not a valid window: write the five fields of a cron/) as string,
  ],
  [
    ['--restart-now', '--window', '0 25 * * * 4h'],
    expect.stringMatching(/^--window: "0 25 \* \* \* 4h" is not a valid window: hour 25 is not understood/) as string,
  ],
  [['--restart-now', '--window', '0 2 * * * soon'], '--window: "soon" is not a duration such as 30s, 10m or 1h30m'],
  [
    ['--restart-now', '--window', '0 2 * * * 0s'],
    '--window: "0 2 * * * 0s" is not a valid window: it must be greater than 0',
  ],
  [
    ['--restart-now', '--window', '0 2 * * * 4h Europe/Zürich'],
    expect.stringMatching(/Europe\/Zürich is not a time zone/) as string,
  ],
])('%j is refused', async (words, sentence) => {
  const error = await asked(words).catch((error: unknown) => error);
  expect(error).toBeInstanceOf(UsageError);
  expect((error as Error).message).toEqual(sentence);
});

test.each([
  ['--only', 'paused'],
  ['--max-restarts', '0'],
  ['--max-restarts', '120%'],
  ['--max-failures', 'x'],
  ['--deadline', 'soon'],
  ['--deadline', '0'],
  ['--reason', ''],
])('%s %j is refused', (flag, value) => expect(() => flagsOf([flag, value])).toThrow(`option '${flag}`));
