import { NAMES, type Setting } from './setting.ts';

const PREFIX = { pattern: /^[^\s,]+$/, must: 'must have no spaces or commas' };
const HEADER = { pattern: /^[A-Za-z0-9-]+$/, must: 'must be the name of a header: letters, digits and -' };

/** Settings of `drover dashboard`: what it needs to serve many users, behind a proxy that names them. */
export const DASHBOARD_SETTINGS = {
  'dashboard.port': {
    what: 'port of the page',
    variable: 'DROVER_DASHBOARD_PORT',
    flag: '--port',
    without: 'any that is free; 8443 behind a proxy',
    within: [0, 65_535],
  },
  'dashboard.proxyCa': {
    what: "authorities of the proxy's client certificate: with it, the page is served on all addresses, for users whom the proxy names",
    variable: 'DROVER_DASHBOARD_PROXY_CA',
    flag: '--proxy-ca',
    without: 'the loopback addresses, for the user who starts it',
    isPath: true,
  },
  'dashboard.proxyNames': {
    what: "names, one of which the proxy's certificate must have: its common name, a DNS name or a URI",
    variable: 'DROVER_DASHBOARD_PROXY_NAMES',
    flag: '--proxy-names',
    without: 'any certificate of these authorities',
    like: { pattern: /^[^\s,]+$/, must: 'must be names without spaces' },
    isList: true,
  },
  'dashboard.tlsCert': {
    what: 'the certificate that the proxy is shown',
    variable: 'DROVER_DASHBOARD_TLS_CERT',
    flag: '--tls-cert',
    without: 'must be given behind a proxy',
    isPath: true,
  },
  'dashboard.tlsKey': {
    what: 'its key',
    variable: 'DROVER_DASHBOARD_TLS_KEY',
    flag: '--tls-key',
    without: 'must be given behind a proxy',
    isPath: true,
  },
  'dashboard.origins': {
    what: 'how browsers reach the proxy, such as `https://drover.example.com`',
    variable: 'DROVER_DASHBOARD_ORIGINS',
    flag: '--origins',
    without: 'must be given behind a proxy',
    like: {
      pattern: /^https:\/\/[a-z0-9]([-a-z0-9.]*[a-z0-9])?(:\d+)?$/,
      must: 'must be https://, a name in lower case and perhaps a port, without a slash at the end',
    },
    isList: true,
  },
  'dashboard.userHeader': {
    what: 'the header with the name of the user',
    variable: 'DROVER_DASHBOARD_USER_HEADER',
    flag: '--user-header',
    value: 'X-Forwarded-User',
    like: HEADER,
  },
  'dashboard.groupsHeader': {
    what: "the header with the user's groups, or `none`",
    variable: 'DROVER_DASHBOARD_GROUPS_HEADER',
    flag: '--groups-header',
    value: 'X-Forwarded-Groups',
    like: HEADER,
  },
  'dashboard.groupSeparator': {
    what: 'what stands between groups: a comma, a semicolon, a bar, or `none` if each is on its own line',
    variable: 'DROVER_DASHBOARD_GROUP_SEPARATOR',
    flag: '--group-separator',
    value: ',',
    oneOf: [',', ';', '|', 'none'],
  },
  'dashboard.userPrefix': {
    what: "what comes before the user's name in Kubernetes, such as `oidc:`",
    variable: 'DROVER_DASHBOARD_USER_PREFIX',
    flag: '--user-prefix',
    without: 'nothing',
    like: PREFIX,
  },
  'dashboard.groupPrefix': {
    what: 'what comes before the name of a group in Kubernetes',
    variable: 'DROVER_DASHBOARD_GROUP_PREFIX',
    flag: '--group-prefix',
    without: 'nothing',
    like: PREFIX,
  },
  'dashboard.namespaces': {
    what: 'where to look for users who may list neither pools nor namespaces in the whole cluster',
    variable: 'DROVER_DASHBOARD_NAMESPACES',
    flag: '--look-in',
    without: 'the namespace of the context, or of the pod',
    like: NAMES,
    isList: true,
  },
  'dashboard.mostUsers': {
    what: 'how many users may use it at once',
    variable: 'DROVER_DASHBOARD_MOST_USERS',
    flag: '--most-users',
    value: '50',
    within: [1, 1_000],
  },
} as const satisfies Record<string, Setting>;
