import { field, isObject } from '../lib/json.ts';

type Choice = (key: string) => boolean;

const among =
  (...keys: string[]): Choice =>
  (key) =>
    keys.includes(key);
const allButName: Choice = (key) => key !== 'name';
const PROBE = [among('exec', 'tcpSocket', 'httpGet', 'guestAgentPing')];
const CLOUD_INIT = [
  among('userData', 'userDataBase64', 'secretRef'),
  among('networkData', 'networkDataBase64', 'networkDataSecretRef'),
];

/** KubeVirt accepts only one of these fields at a time; by the field that holds them, or the list whose items do. */
const CHOICES = new Map<string, Choice[]>([
  ['volumes', [allButName]],
  ['networks', [allButName]],
  ['disks', [among('disk', 'lun', 'cdrom')]],
  ['interfaces', [among('binding', 'bridge', 'macvtap', 'masquerade', 'passt', 'passtBinding', 'slirp', 'sriov')]],
  ['bootloader', [among('bios', 'efi')]],
  ['clock', [among('utc', 'timezone')]],
  ['launchSecurity', [among('sev', 'snp', 'tdx')]],
  ['livenessProbe', PROBE],
  ['readinessProbe', PROBE],
  ['cloudInitNoCloud', CLOUD_INIT],
  ['cloudInitConfigDrive', CLOUD_INIT],
  ['sysprep', [among('secret', 'configMap')]],
]);

/**
 * Reports whether `target`, which is in `holder`, chose another field instead of `key`, so that `key` can't stay next
 * to it.
 */
export function dropsRivals(holder: string, target: unknown, key: string): boolean {
  if (!isObject(target) || field(target, key) !== undefined) return false;
  return (CHOICES.get(holder) ?? []).some((choice) => choice(key) && Object.keys(target).some(choice));
}
