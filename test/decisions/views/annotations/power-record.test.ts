import { expect, test } from 'vitest';
import { POWER_ANNOTATION } from '../../../../api/labels-and-annotations.ts';
import { isUntouched, newPowerRecord } from '../../../../decisions/power/untouched.ts';
import { powerRecordOf } from '../../../../decisions/views/annotations/power-record.ts';
import type { VmView } from '../../../../decisions/views/vm.ts';
import type { VmiView } from '../../../../decisions/views/vmi.ts';
import { aVm, aVmi } from '../../fixtures/fleets.ts';

const running = aVm('vm-1', { owner: null, generation: 3 });
const stopped: VmView = { ...running, runStrategy: 'Halted', hasVmi: false, ready: false, notReadySince: 1_000 };
const begun = { vm: 'shop/vm-1', uid: running.uid, since: 5_000, graceMs: 30_000, wasDown: true as const };

test('a note is read as it was written, and nothing else is read as a note', () => {
  const note = newPowerRecord({ by: 'power/default/a', turn: 2 }, begun, running, aVmi(running));
  expect(powerRecordOf({ [POWER_ANNOTATION]: JSON.stringify(note) })).toEqual(note);
  const small = newPowerRecord(
    { by: 'power/default/a' },
    { vm: 'shop/vm-1', uid: 'u', since: 5_000 },
    stopped,
    undefined,
  );
  expect(powerRecordOf({ [POWER_ANNOTATION]: JSON.stringify(small) })).toEqual(small);
  for (const text of ['', 'null', '[]', '{}', '{"by":"a","since":"today","generation":1}', '{"by":"a","since":1}'])
    expect(powerRecordOf({ [POWER_ANNOTATION]: text })).toBeNull();
  expect(powerRecordOf(undefined)).toBeNull();
});

// A VM whose note is not read is taken for one that nothing acts on, and another would be taken down beside it.
test('a note is read though its times are not whole: the clock of the API server is estimated', () => {
  const note = newPowerRecord(
    { by: 'power/default/a' },
    { ...begun, since: 4684.25, graceMs: 0.5 },
    stopped,
    undefined,
  );
  expect(powerRecordOf({ [POWER_ANNOTATION]: JSON.stringify(note) })).toEqual(note);
});

const noted = (vm: VmView, vmi: VmiView | undefined) => newPowerRecord({ by: 'power/default/a' }, begun, vm, vmi);

test.each<[string, VmView, Partial<VmView>]>([
  ['has got another spec', stopped, { generation: 5 }],
  ['was asked for by a request in its status', stopped, { changingState: true }],
  ['has run, and has stopped since', stopped, { notReadySince: 9_000 }],
])('a stopped VM has changed once it %s', (_words, vm, changed) => {
  const note = noted(vm, undefined);
  expect(isUntouched(note, { ...vm, resourceVersion: '99' }, undefined)).toBe(true);
  expect(isUntouched(note, { ...vm, ...changed }, undefined)).toBe(false);
});

test('a VM that runs has changed once it has no VMI, another VMI, or a terminating one', () => {
  const vmi = aVmi(running);
  const note = noted(running, vmi);
  expect(isUntouched(note, { ...running, notReadySince: 9_000 }, vmi)).toBe(true);
  for (const other of [undefined, aVmi(running, { uid: 'another' }), { ...vmi, deleting: true }])
    expect(isUntouched(note, running, other)).toBe(false);
  expect(isUntouched(noted(stopped, undefined), stopped, vmi)).toBe(false);
});
