use frame_support::dispatch::CheckIfFeeless;

use crate::{mock::*, Call};

mod absence;
mod administration;
mod bonds;
mod capacity;
mod free_calls;
mod halts;
mod hardware;
mod presence;
mod random_calls;
mod registration;
mod retirement;

fn is_free(call: Call<Test>, origin: RuntimeOrigin) -> bool {
    RuntimeCall::from(call).is_feeless(&origin)
}
