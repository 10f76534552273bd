//! The options `--job` and `--param` of a sweep: its parameters in the order of the command line, on which samples and columns
//! depend.

use crate::heading;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use nandscope_sweep::Parameter;
use nandscope_sweep::space::{Key, SpaceError};

/// The options by their names in clap's matches.
const OPTIONS: [&str; 2] = ["job keys", "profile parameters"];

/// The varied parameters of profile and jobs.
#[derive(Clone, Debug)]
pub struct SpaceArguments {
    /// In the order in which they were given.
    pub parameters: Vec<Parameter>,
}

/// A key of job files with its values.
fn job_parameter(text: &str) -> Result<Parameter, SpaceError> {
    format!("job.{text}").parse()
}

/// A key of the device profile with its values.
fn profile_parameter(text: &str) -> Result<Parameter, SpaceError> {
    let parameter: Parameter = text.parse()?;
    match &parameter.key {
        Key::Profile(_) => Ok(parameter),
        key => Err(SpaceError::NotOfProfile(key.to_string())),
    }
}

impl Args for SpaceArguments {
    fn augment_args(command: Command) -> Command {
        let [keys, params] = OPTIONS;
        command
            .arg(
                Arg::new(keys)
                    .long("job")
                    .value_name("KEY=VALUES")
                    .action(ArgAction::Append)
                    .value_parser(job_parameter)
                    .help("Change a key of every job; repeatable"),
            )
            .arg(
                Arg::new(params)
                    .long("param")
                    .value_name("KEY=VALUES")
                    .action(ArgAction::Append)
                    .value_parser(profile_parameter)
                    .help_heading(heading::SIMULATED)
                    .help("Change a parameter of the device profile; repeatable"),
            )
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for SpaceArguments {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut all: Vec<(usize, Parameter)> = Vec::new();
        for option in OPTIONS {
            let values = matches.get_many::<Parameter>(option);
            let places = matches.indices_of(option).into_iter().flatten();
            all.extend(places.zip(values.into_iter().flatten().cloned()));
        }
        all.sort_by_key(|(place, _)| *place);
        Ok(SpaceArguments {
            parameters: all.into_iter().map(|(_, parameter)| parameter).collect(),
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
