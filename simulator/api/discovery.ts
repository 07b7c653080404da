export const GROUP = 'subresources.kubevirt.io';
export const VERSIONS = ['v1', 'v1alpha3'] as const;
export const VM_ACTIONS = ['start', 'stop', 'restart', 'migrate'] as const;
export const VMI_ACTIONS = ['pause', 'unpause', 'evacuate/cancel'] as const;

const groupVersions = VERSIONS.map((version) => ({ groupVersion: `${GROUP}/${version}`, version }));
const group = { name: GROUP, versions: groupVersions, preferredVersion: groupVersions[0] };

const resourcesOf = (version: string): object => ({
  kind: 'APIResourceList',
  apiVersion: 'v1',
  groupVersion: `${GROUP}/${version}`,
  resources: [
    ...VMI_ACTIONS.map((action) => ({
      name: `virtualmachineinstances/${action}`,
      singularName: '',
      namespaced: true,
      kind: '',
      // Go writes a nil slice as null.
      verbs: null,
    })),
    ...VM_ACTIONS.map((action) => ({
      name: `virtualmachines/${action}`,
      singularName: '',
      namespaced: true,
      kind: '',
      verbs: null,
    })),
  ],
});

/** Discovery documents that the API server's aggregator and clients request, by path. */
export const discoveryDocuments: ReadonlyMap<string, object> = new Map<string, object>([
  ['/apis', { kind: 'APIGroupList', apiVersion: 'v1', groups: [group] }],
  [`/apis/${GROUP}`, { kind: 'APIGroup', apiVersion: 'v1', ...group }],
  ...VERSIONS.map((version): [string, object] => [`/apis/${GROUP}/${version}`, resourcesOf(version)]),
  ...VERSIONS.map((version): [string, object] => [
    `/apis/${GROUP}/${version}/healthz`,
    { apiserver: { connectivity: 'ok' } },
  ]),
  ...VERSIONS.map((version): [string, object] => [
    `/apis/${GROUP}/${version}/version`,
    {
      gitVersion: 'v1.8.0-simulated',
      gitCommit: '',
      gitTreeState: '',
      buildDate: '',
      goVersion: '',
      compiler: '',
      platform: '',
    },
  ]),
  ['/openapi/v2', { swagger: '2.0', info: { title: 'KubeVirt simulator', version: 'v1' }, paths: {} }],
  ['/openapi/v3', { paths: {} }],
]);
