import type { RegionText } from '@svc/shared/regions.ts';
import type { Endpoint, EndpointTypes, ParametersOf } from '../api/endpoint.ts';
import type { Called, Sent } from '../api/in-process.ts';
import type { Token, TokenScope } from '../store/access/tokens.ts';
import type { Asset } from '../web/assets.ts';
import type { Form } from '../web/forms.ts';
import type { Html } from '../web/html.ts';

/** A page of the dashboard, or the target of one of its forms. */
export type DashboardPage = {
  readonly method: 'GET' | 'POST';
  /** Path like `/monitors/{id}`. Every parameter is a positive integer. */
  readonly path: string;
  /** The scope that the session's token needs. The API checks each call again. */
  readonly scope: TokenScope;
  /** The page's entry in the navigation; left out: the page has no entry. */
  readonly navigation?: Navigation;
  handle(request: DashboardRequest): Promise<DashboardAnswer>;
};

export type Navigation = { readonly label: string; readonly group: NavigationGroup };

/** Groups of the navigation, in their order. */
export const NAVIGATION_GROUPS = ['Watch', 'Tell', 'Operate'] as const;
export type NavigationGroup = (typeof NAVIGATION_GROUPS)[number];

/**
 * A request to a page. Its session is valid, and its token has the page's
 * scope. If the request sends a form, the dashboard made the form.
 */
export type DashboardRequest = {
  /** The ids in the path, by the names of the path parameters. */
  readonly ids: Readonly<Record<string, number>>;
  readonly query: URLSearchParams;
  /** Path and query of the request, for a link back to this page. */
  readonly path: string;
  /** The fields of the sent form; empty for GET. */
  readonly form: Form;
  readonly api: PageApi;
  /** The hidden field that every form with `method="post"` must have. */
  readonly formToken: Html;
  /** The session's token. */
  readonly token: Token;
  /**
   * Whether the session is still open. Long answers, such as event streams, call this
   * repeatedly, because a logout or the expiry of the token may end the session meanwhile.
   */
  isSessionOpen(): boolean;
  /**
   * Whether the session's token includes this scope. Pages
   * call this to show only controls that the visitor may use.
   */
  hasScope(scope: TokenScope): boolean;
  /**
   * Whether there is a page at the path that this session may open.
   *
   * @param method the default is GET
   */
  canOpen(path: string, method?: 'GET' | 'POST'): boolean;
  readonly regionText: RegionText;
  /** Time of the request, epoch ms. */
  readonly now: number;
  /** Aborted when the visitor closes the connection. */
  readonly signal: AbortSignal;
};

/** Calls endpoints of the API with the session's token. Pages read and write data only in this way. */
export interface PageApi {
  /**
   * Calls an endpoint.
   *
   * @param parameters the ids in the endpoint's path, and its query parameters
   */
  call<T extends EndpointTypes>(
    endpoint: Endpoint<T>,
    parameters: ParametersOf<T>,
    sent?: Sent,
  ): Promise<Called<T['answer']>>;
  /**
   * Calls an endpoint, and returns the body of a successful answer.
   *
   * @throws Problem the API's error, if the call failed
   */
  read<T extends EndpointTypes>(endpoint: Endpoint<T>, parameters: ParametersOf<T>): Promise<T['answer']>;
}

export type DashboardAnswer =
  | {
      /** Title of the browser window. */
      readonly title: string;
      /** The content of the element `main`. It begins with the page's only `h1`. */
      readonly body: Html;
      /** HTTP status; the default is 200. */
      readonly status?: number;
      readonly styles?: readonly Asset[];
      readonly scripts?: readonly Asset[];
      /**
       * Whether an open page shows changes of statuses and of the declaration at
       * once, in browsers with scripts. Every element with an id and the attribute
       * `data-live` is replaced by its new version, unless details in it are open.
       */
      readonly isLive?: boolean;
    }
  | {
      /** Path of the dashboard that the browser opens next. */
      readonly redirect: string;
      /** A sentence about what was done. The next page shows it once. */
      readonly notice?: string;
    }
  | { readonly response: Response };
