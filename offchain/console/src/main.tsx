import { render } from "preact";
import { ErrorBoundary, lazy, LocationProvider, Route, Router } from "preact-iso";
import { noteNavigation } from "./components/parts.tsx";
import { applyTheme, Shell } from "./components/Shell.tsx";
import { BlockPage, Blocks } from "./pages/Blocks.tsx";
import { Explorer } from "./pages/Explorer.tsx";
import { ExtrinsicPage } from "./pages/Extrinsic.tsx";
import { NotFound } from "./pages/NotFound.tsx";
import { Digest, Search } from "./pages/Search.tsx";
import { TaskPage } from "./pages/Task.tsx";
import { Tasks } from "./pages/Tasks.tsx";
import { restore } from "./wallet/session.ts";
import "./style/index.css";

const AccountCoins = lazy(() => import("./pages/AccountCoins.tsx").then((page) => page.AccountCoins));
const LeasePage = lazy(() => import("./pages/Lease.tsx").then((page) => page.LeasePage));
const HostPage = lazy(() => import("./pages/Host.tsx").then((page) => page.HostPage));
const ChallengePage = lazy(() => import("./pages/Challenge.tsx").then((page) => page.ChallengePage));
const Challenges = lazy(() => import("./pages/Challenge.tsx").then((page) => page.Challenges));
const DisputePage = lazy(() => import("./pages/Dispute.tsx").then((page) => page.DisputePage));
const Disputes = lazy(() => import("./pages/Dispute.tsx").then((page) => page.Disputes));
const Hosts = lazy(() => import("./pages/Host.tsx").then((page) => page.Hosts));
const StatePage = lazy(() => import("./pages/State.tsx").then((page) => page.StatePage));
const MarketPage = lazy(() => import("./pages/Market.tsx").then((page) => page.MarketPage));
const Launch = lazy(() => import("./pages/Launch.tsx").then((page) => page.Launch));
const Provider = lazy(() => import("./pages/Provider.tsx").then((page) => page.Provider));
const Operator = lazy(() => import("./pages/Operator.tsx").then((page) => page.Operator));
const OwnAccount = lazy(() => import("./pages/OwnAccount.tsx").then((page) => page.OwnAccount));

function Console() {
  return (
    // Paths of the API are left to the gateway.
    <LocationProvider scope={/^\/(?!v1\/)/}>
      <Shell>
        <ErrorBoundary>
          <Router onRouteChange={noteNavigation}>
            <Route path="/" component={Explorer} />
            <Route path="/blocks" component={Blocks} />
            <Route path="/blocks/:block" component={BlockPage} />
            <Route path="/extrinsics/:hash" component={ExtrinsicPage} />
            <Route path="/accounts/:account" component={AccountCoins} />
            <Route path="/tasks" component={Tasks} />
            <Route path="/tasks/:task" component={TaskPage} />
            <Route path="/leases/:lease" component={LeasePage} />
            <Route path="/hosts" component={Hosts} />
            <Route path="/hosts/:host" component={HostPage} />
            <Route path="/challenges" component={Challenges} />
            <Route path="/challenges/:challenge" component={ChallengePage} />
            <Route path="/disputes" component={Disputes} />
            <Route path="/disputes/:task" component={DisputePage} />
            <Route path="/digests/:digest" component={Digest} />
            <Route path="/search" component={Search} />
            <Route path="/state" component={StatePage} />
            <Route path="/market" component={MarketPage} />
            <Route path="/launch" component={Launch} />
            <Route path="/provider" component={Provider} />
            <Route path="/operator" component={Operator} />
            <Route path="/account" component={OwnAccount} />
            <Route default component={NotFound} />
          </Router>
        </ErrorBoundary>
      </Shell>
    </LocationProvider>
  );
}

applyTheme();
void restore();
const place = document.getElementById("app");
if (place !== null) render(<Console />, place);
