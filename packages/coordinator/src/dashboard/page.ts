import type { Endpoint, EndpointTypes, ParametersOf } from '../api/endpoint.ts';
import type { Called, Sent } from '../api/in-process.ts';
import type { Token, TokenScope } from '../store/access/tokens.ts';
import type { Asset } from '../web/assets.ts';
import type { Form } from '../web/forms.ts';
import type { Html } from '../web/html.ts';

/** A page of the dashboard, or what a form of one does. */
export type DashboardPage = {
  readonly method: 'GET' | 'POST';
  /** Path like `/monitors/{id}`. Every parameter is a positive integer. */
  readonly path: string;
  /** Smallest scope of the session's token that opens it. The API checks each call again. */
  readonly scope: TokenScope;
  /** Its entry in the navigation; left out: it has none. */
  readonly navigation?: Navigation;
  handle(request: DashboardRequest): Promise<DashboardAnswer>;
};

export type Navigation = { readonly label: string; readonly group: NavigationGroup };

/** Groups of the navigation, in their order. */
export const NAVIGATION_GROUPS = ['Watch', 'Tell', 'Operate'] as const;
export type NavigationGroup = (typeof NAVIGATION_GROUPS)[number];

/** A request whose session is valid, whose form was sent by the dashboard, and whose token has the page's scope. */
export type DashboardRequest = {
  /** Ids of the path by name. */
  readonly ids: Readonly<Record<string, number>>;
  readonly query: URLSearchParams;
  /** Path with its query, for a link back to this page. */
  readonly path: string;
  /** The fields that were sent; empty for GET. */
  readonly form: Form;
  readonly api: PageApi;
  /** The hidden field that every form with `method="post"` must have. */
  readonly formToken: Html;
  /** The session's token. */
  readonly token: Token;
  /** Whether the session has not ended since, for answers that take long: by a logout, or with its token. */
  isSessionOpen(): boolean;
  /** Whether the session's token has the scope, for controls that others cannot use. */
  can(scope: TokenScope): boolean;
  /** Whether this session can open a page at the path, for links and forms. @param method the default is GET */
  leadsTo(path: string, method?: 'GET' | 'POST'): boolean;
  /** Epoch ms. */
  readonly now: number;
  /** Aborted when the visitor is gone. */
  readonly signal: AbortSignal;
};

/** The endpoints of the API with the session's token: pages read and write only through them. */
export interface PageApi {
  /** Calls an endpoint. Parameters are the ids of its path and its query. */
  call<T extends EndpointTypes>(
    endpoint: Endpoint<T>,
    parameters: ParametersOf<T>,
    sent?: Sent,
  ): Promise<Called<T['answer']>>;
  /**
   * The body of a successful call. Its type is that of the endpoint's schema.
   *
   * @throws Problem that the API answered
   */
  read<T extends EndpointTypes>(endpoint: Endpoint<T>, parameters: ParametersOf<T>): Promise<T['answer']>;
}

export type DashboardAnswer =
  | {
      /** For the title of the window. */
      readonly title: string;
      /** The content of `main`; it begins with the one `h1`. */
      readonly body: Html;
      /** The default is 200. */
      readonly status?: number;
      readonly styles?: readonly Asset[];
      readonly scripts?: readonly Asset[];
      /**
       * Whether the page changes by itself when a status or a declaration does, where scripts run: then every element
       * with an id and the attribute `data-live` is replaced by the one of the page as it is now.
       */
      readonly isLive?: boolean;
    }
  | {
      /** Path of the dashboard that the browser opens next. */
      readonly redirect: string;
      /** What was done. The next page shows it once. */
      readonly notice?: string;
    }
  | { readonly response: Response };
