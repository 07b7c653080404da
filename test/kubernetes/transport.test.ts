import { expect, test } from 'vitest';
import { withoutRemark } from '../../kubernetes/transport.ts';

const REMARK =
  '<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; ' +
  'correct the existing errors to complete validation';

test('what the API server adds to every fault of an object is left out, and nothing else', () => {
  const fault = 'VirtualMachine.kubevirt.io "web-0" is invalid: [spec.domain.devices: Required value';
  expect(withoutRemark(`${fault}, ${REMARK}]`)).toBe(`${fault}]`);
  expect(withoutRemark(`${fault}, ${REMARK.replace('null', '"null"')}]`)).toBe(`${fault}]`);
  expect(withoutRemark(`${fault}, spec.x: Invalid value: null]`)).toBe(`${fault}, spec.x: Invalid value: null]`);
});
