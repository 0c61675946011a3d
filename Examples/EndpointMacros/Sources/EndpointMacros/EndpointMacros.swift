// SPDX-License-Identifier: MIT

import PulseCore

/// Makes a struct an endpoint with the method GET and that path.
///
/// A placeholder takes the value of the property with its name, as one segment or a part of one: the path is a
/// `PathText`, in which `{id}` is the interpolation `\(id)`. A placeholder without a property, and a stored property that
/// is neither in the path nor used by another member, are errors of the compiler.
@attached(extension, conformances: Endpoint, names: named(method), named(path))
public macro GET(_ template: String) = #externalMacro(module: "EndpointMacrosPlugin", type: "EndpointMacro")

/// Makes a struct an endpoint with the method POST and that path: see ``GET(_:)``.
@attached(extension, conformances: Endpoint, names: named(method), named(path))
public macro POST(_ template: String) = #externalMacro(module: "EndpointMacrosPlugin", type: "EndpointMacro")

/// Makes a struct an endpoint with the method PUT and that path: see ``GET(_:)``.
@attached(extension, conformances: Endpoint, names: named(method), named(path))
public macro PUT(_ template: String) = #externalMacro(module: "EndpointMacrosPlugin", type: "EndpointMacro")

/// Makes a struct an endpoint with the method PATCH and that path: see ``GET(_:)``.
@attached(extension, conformances: Endpoint, names: named(method), named(path))
public macro PATCH(_ template: String) = #externalMacro(module: "EndpointMacrosPlugin", type: "EndpointMacro")

/// Makes a struct an endpoint with the method DELETE and that path: see ``GET(_:)``.
@attached(extension, conformances: Endpoint, names: named(method), named(path))
public macro DELETE(_ template: String) = #externalMacro(module: "EndpointMacrosPlugin", type: "EndpointMacro")
