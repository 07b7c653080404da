import { expect, test } from 'vitest';
import { firmwareOf, keepsState, withFirmware } from '../../../decisions/template/vm-state.ts';

const spec = (domain: object) => ({ template: { spec: { domain } } });

test('KubeVirt keeps the state of a persistent TPM and of persistent UEFI variables', () => {
  expect(keepsState(spec({ devices: { tpm: { persistent: true } } }))).toBe(true);
  expect(keepsState(spec({ firmware: { bootloader: { efi: { persistent: true } } } }))).toBe(true);
  for (const domain of [
    {},
    { devices: { tpm: {} } },
    { devices: { tpm: { persistent: true, enabled: false } } },
    { firmware: { bootloader: { efi: {} } } },
  ])
    expect(keepsState(spec(domain))).toBe(false);
  expect(keepsState(undefined)).toBe(false);
});

test('a VM gets the firmware of its predecessor if its template gives it none', () => {
  const before = spec({ firmware: { uuid: 'u', serial: 's', bootloader: { bios: {} } } });
  expect(firmwareOf(before)).toEqual({ uuid: 'u', serial: 's' });
  expect(firmwareOf(spec({ firmware: { uuid: '' } }))).toEqual({});
  expect(withFirmware(spec({ cpu: {} }), firmwareOf(before))).toEqual(
    spec({ cpu: {}, firmware: { uuid: 'u', serial: 's' } }),
  );
  expect(withFirmware(spec({ firmware: { uuid: 'own' } }), firmwareOf(before))).toEqual(
    spec({ firmware: { uuid: 'own', serial: 's' } }),
  );
  const none = spec({});
  expect(withFirmware(none, {})).toBe(none);
});
