import { expect, test } from 'vitest';
import { aFleet, haltedTemplate, namesUpTo } from '../../integration/fleet.ts';
import { drover, nowhere, type Outcome } from '../drover.ts';

const fleet = aFleet();

const POOL = {
  apiVersion: 'drover.dev/v1alpha1',
  kind: 'VirtualMachinePool',
  metadata: { name: 'web' },
  spec: { replicas: 2, template: haltedTemplate },
};

/** Other tests run commands in their own process, which would not notice a connection or a timer that is left. */
test('a command that has answered ends by itself, as a process', async () => {
  const namespace = await fleet().namespace();
  const env = { ...nowhere, ...fleet().stack.env };
  const run = (line: string, input?: string): Promise<Outcome> =>
    drover([...line.split(' '), '-n', namespace], env, input);
  const applied = await run('apply --wait --timeout 2m -f -', JSON.stringify(POOL));
  expect(applied).toMatchObject({ code: 0, signal: null });
  await fleet().settled(namespace, 'web', namesUpTo('web', 2));
  const lines = [
    'status pool web',
    'history pool web',
    'rollout status pool web',
    'drift pool web',
    'heal status pool web',
    'vm pending',
    'machine-types list',
    'scale pool web --remove web-2 --dry-run',
  ];
  const outcomes = await Promise.all(lines.map((line) => run(line)));
  const codes = outcomes.map(({ code }, index) => [lines[index], code]);
  expect(codes).toEqual(lines.map((line) => [line, 0]));
  expect(await run('status pool nope')).toMatchObject({ code: 1, signal: null });
});
