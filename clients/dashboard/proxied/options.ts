import type { Given } from '../../../workers/settings/gather.ts';
import { settingsInForce, type InForce } from '../../../workers/settings/in-force.ts';
import { valueOf } from '../../../workers/settings/schema.ts';
import { isOfDashboard, SETTINGS, type SettingName } from '../../../workers/settings/settings.ts';
import { UsageError } from '../../cli/failure.ts';
import type { CredentialFiles } from './credentials.ts';
import type { IdentityHeaders } from './identity.ts';

export interface ProxiedOptions {
  port: number;
  files: CredentialFiles;
  /** Names of which the proxy's certificate must have one; if there are none, each of the authority will do. */
  names: readonly string[];
  origins: readonly string[];
  headers: IdentityHeaders;
  /** Where to look for users who may list neither pools nor namespaces; undefined: the pod's own namespace. */
  elsewhere: readonly string[] | undefined;
  mostUsers: number;
  /** Where probes are answered; undefined: nowhere. */
  health: { address: string; port: number } | undefined;
  /** All that are in force, for people to read. */
  settings: readonly InForce[];
}

const PORT = 8443;
const NEEDED = ['dashboard.tlsCert', 'dashboard.tlsKey', 'dashboard.origins'] as const;
/** Settings that make sense without a proxy as well. */
const OF_BOTH: readonly SettingName[] = ['dashboard.port', 'dashboard.namespaces'];
const PREFIXES: readonly SettingName[] = ['dashboard.userPrefix', 'dashboard.groupPrefix'];
const HEALTH: readonly SettingName[] = ['worker.healthPort', 'worker.healthAddress'];

/**
 * Returns the settings for a proxy; undefined if there are none, and the page is served on the loopback addresses only:
 * without an authority for the proxy's certificate, nothing listens beyond them. Throws `UsageError` if the settings
 * are incomplete.
 */
export function proxiedOptions(given: Given): ProxiedOptions | undefined {
  const settings = settingsInForce(given, (name) => isOfDashboard(name) || HEALTH.includes(name));
  const values = new Map(settings.map(({ setting, value }) => [setting, value]));
  const text = (name: SettingName): string | undefined => values.get(name);
  const list = (name: SettingName): string[] | undefined => {
    const all = text(name);
    return all === undefined ? undefined : (valueOf(SETTINGS[name], all) as string[]);
  };
  const called = (name: SettingName): string => given.get(name)?.from ?? SETTINGS[name].variable;
  const ca = text('dashboard.proxyCa');
  if (ca === undefined) {
    const lost = [...given.keys()].find((name) => isOfDashboard(name) && !OF_BOTH.includes(name));
    if (lost === undefined) return undefined;
    throw new UsageError(
      `${called(lost)} is for a dashboard behind a proxy, which needs ${called('dashboard.proxyCa')}: ` +
        'without it, anyone could claim to be any user',
    );
  }
  const missing = NEEDED.find((name) => text(name) === undefined);
  if (missing !== undefined) throw new UsageError(`behind a proxy, ${called(missing)} must be given, too`);
  const [userHeader, groupsHeader] = [text('dashboard.userHeader')!, text('dashboard.groupsHeader')!];
  if (userHeader.toLowerCase() === groupsHeader.toLowerCase())
    throw new UsageError(`${userHeader} can't be the header of the user and of the groups`);
  const reserved = PREFIXES.find((name) => text(name)?.startsWith('system:') === true);
  if (reserved !== undefined)
    throw new UsageError(`${called(reserved)}: names that begin with system: are Kubernetes' own`);
  const [separator, healthPort] = [text('dashboard.groupSeparator')!, text('worker.healthPort')];
  return {
    port: Number(text('dashboard.port') ?? PORT),
    files: { ca, cert: text('dashboard.tlsCert')!, key: text('dashboard.tlsKey')! },
    names: list('dashboard.proxyNames') ?? [],
    origins: list('dashboard.origins')!.map((origin) => new URL(origin).origin),
    headers: {
      user: userHeader,
      groups: groupsHeader === 'none' ? undefined : groupsHeader,
      groupSeparator: separator === 'none' ? '' : separator,
      userPrefix: text('dashboard.userPrefix') ?? '',
      groupPrefix: text('dashboard.groupPrefix') ?? '',
    },
    elsewhere: list('dashboard.namespaces'),
    mostUsers: Number(text('dashboard.mostUsers')),
    health: healthPort === undefined ? undefined : { address: text('worker.healthAddress')!, port: Number(healthPort) },
    settings,
  };
}
